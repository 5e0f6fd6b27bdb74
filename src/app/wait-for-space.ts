import { existsSync } from 'node:fs';
import { startHealthServer } from '../admin/health-server.ts';
import type { Config } from '../config/config.ts';
import { messageOf } from '../core/message-text.ts';
import { hasCode, OrderSyncError } from '../core/order-sync-error.ts';
import { isOutboxBlocked } from '../ops/disk-guard.ts';
import { freeBytesOf, freeSpace, isOutOfSpace } from '../store/sqlite/disk-errors.ts';
import type { WorkerDeps } from './worker-deps.ts';

const checkEveryMs = 1000;
/** To open the outbox and write its first rows takes less. */
const startBytes = 4 * 1_048_576;
/**
 * Something else than the space of this disk may be used up, for example its inodes: then only a
 * try shows it.
 */
const longestWaitMs = 30_000;

/** @throws OrderSyncError DISK_FULL when there is too little space to begin a start */
export function requireSpaceToStart({ dataDir }: Pick<Config, 'dataDir'>): void {
  // A folder that is missing is created by the start, or refused.
  if (!existsSync(dataDir)) return;
  const freeBytes = freeBytesOf(dataDir);
  if (freeBytes >= startBytes) return;
  const message = `${freeBytes} bytes are free on the disk of ${dataDir}, and ${startBytes} are needed to start`;
  throw new OrderSyncError('DISK_FULL', message, { hint: freeSpace });
}

/** The cause of a failed start when it may succeed later; null: it has another cause. */
export function blockOf(error: unknown): Error | null {
  if (error instanceof AggregateError) return blockOf(error.errors[0]);
  // Another worker: it has been waited for.
  if (hasCode(error, 'DATABASE_LOCKED')) return null;
  if (isOutboxBlocked(error) || isOutOfSpace(error)) return error;
  return error instanceof Error && error.cause !== undefined ? blockOf(error.cause) : null;
}

/**
 * Waits until a start that failed for lack of space, or because of another program's lock, may
 * succeed. Meanwhile the worker answers health checks: it is alive and not ready.
 * @throws OrderSyncError DISK_FULL, DATABASE_BUSY when the worker is asked to stop
 */
export async function waitForSpace(
  { config, clock, logger, version, stopping }: WorkerDeps,
  failure: Error,
): Promise<void> {
  const reason = messageOf(failure);
  const { dataDir, admin } = config;
  const details = {
    folder: dataDir,
    free_bytes: freeBytesOf(dataDir),
    needed_bytes: startBytes,
    reason,
  };
  const checks = [{ name: 'disk', readiness: true, check: () => 'fail' as const }];
  const draining = (): boolean => stopping?.aborted ?? false;
  const health = await startHealthServer({
    ...admin.listen,
    version,
    checks,
    draining,
    clock,
    logger,
  });
  const code = hasCode(failure, 'DATABASE_BUSY') ? failure.code : 'DISK_FULL';
  const why = code === 'DISK_FULL' ? 'the disk is full' : 'the database is locked';
  logger.error(details, `${why}, so the worker cannot start yet: it waits`);
  try {
    const untilMs = clock.steadyMs() + longestWaitMs;
    do {
      await clock.sleep(checkEveryMs, stopping);
      if (!draining()) continue;
      const message = `The worker did not start, because ${why}: ${reason}`;
      const hint = 'hint' in failure ? String(failure.hint) : freeSpace;
      throw new OrderSyncError(code, message, { hint, cause: failure });
    } while (clock.steadyMs() < untilMs && freeBytesOf(dataDir) < startBytes);
  } finally {
    await health.close();
  }
}
