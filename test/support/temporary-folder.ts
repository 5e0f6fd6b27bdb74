import { chmodSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';

const memory = '/dev/shm';
/** A container may have 64 MB there. */
const neededBytes = 2 * 1024 ** 3;

/**
 * Gives the tests and their programs a temporary folder in memory, where nothing waits for a disk.
 * A `TMPDIR` that was set stays. What a killed program leaves is removed at the end.
 */
export function setup(): (() => void) | undefined {
  if (process.env['TMPDIR'] !== undefined || freeBytes(memory) < neededBytes) return undefined;
  const folder = mkdtempSync(join(memory, 'order-sync-'));
  // As /tmp is: some tests act as another user.
  chmodSync(folder, 0o1777);
  process.env['TMPDIR'] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}

function freeBytes(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return 0;
  }
}
