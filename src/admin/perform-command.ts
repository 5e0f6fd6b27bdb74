import type { Clock } from '../core/clock.ts';
import type { Family } from '../core/order/purchase.ts';
import type { CommandResult, StoreCommand } from '../core/operator/operator-command.ts';
import { OrderSyncError } from '../core/order-sync-error.ts';
import { readScope } from '../core/order/scope.ts';
import type { Store } from '../store/store.ts';
import { sealAgain } from './seal-again.ts';

/**
 * So many entries are sealed by one command, which takes a second or two: the command line shows
 * its progress.
 */
const sealedByCommand = 2000;

export interface CommandSettings {
  readonly keyNames: readonly string[];
  readonly referenceExpiryMs: number;
  readonly lookupFamilies: readonly Family[];
}

/** A pause of an unknown key would pause nothing, although the caller believes that it does. */
function checkKey(text: string, settings: CommandSettings): void {
  const scope = readScope(text);
  if (scope.kind !== 'key' || settings.keyNames.includes(scope.name)) return;
  throw new OrderSyncError('INVALID_INPUT', `No key is called "${scope.name}"`, {
    hint: `the configured keys: ${settings.keyNames.join(', ')}`,
  });
}

/**
 * Performs an operator's command as one step of the store: in the worker, or in the command line while
 * no worker runs.
 * @throws OrderSyncError NOT_FOUND, INVALID_INPUT, NOT_ALLOWED
 */
export async function performCommand(
  store: Store,
  command: StoreCommand,
  settings: CommandSettings,
  clock: Pick<Clock, 'wallMs' | 'steadyMs' | 'sleep'>,
): Promise<CommandResult> {
  const { referenceExpiryMs, lookupFamilies } = settings;
  const nowMs = clock.wallMs();
  // The present time, and the facts that decide whether an entry may be sent or looked up again.
  const policy = { nowMs, steadyMs: clock.steadyMs(), referenceExpiryMs, lookupFamilies };
  switch (command.action) {
    case 'hold':
    case 'release':
    case 'cancel':
    case 'retry':
    case 'resolve':
    case 'reorder': {
      const { reference, actor, reason, ...order } = command;
      return {
        kind: 'entry',
        ...(await store.operator.actOnEntry({ reference, order, actor, reason, ...policy })),
      };
    }
    case 'give':
      return { kind: 'entry', ...(await store.operator.givePieces({ ...command, nowMs })) };
    case 'bulk':
      return { kind: 'bulk', ...(await store.operator.actInBulk({ ...command, ...policy })) };
    case 'acknowledge':
      return { kind: 'acknowledged', ...(await store.operator.acknowledge({ ...command, nowMs })) };
    case 'pause':
      checkKey(command.scope, settings);
      await store.operator.pauseScope({ ...command, nowMs });
      return { kind: 'scope', scope: command.scope, paused: true };
    case 'resume':
      if (command.scope.startsWith('sink:'))
        await store.operator.trySink({ ...command, sink: command.scope.slice(5), nowMs });
      else await store.operator.resumeScope({ ...command, nowMs });
      return { kind: 'scope', scope: command.scope, paused: false };
    case 'set_balance':
      await store.operator.setBalance({ ...command, nowMs });
      return { kind: 'scope', scope: `balance:${command.currency}`, paused: false };
    case 'rewrite_results':
      return { kind: 'results', ...(await store.operator.redeliver({ ...command, nowMs })) };
    case 'reveal': {
      const units = await store.codeReads.reveal({ ...command, nowMs });
      return { kind: 'revealed', units: units.map((unit) => ({ ...unit })) };
    }
    case 'seal_again': {
      const { unreadable, more } = await sealAgain(store.sealing, clock, sealedByCommand);
      if (!more) await store.sealing.emptyLog();
      return { kind: 'sealed', sealsWith: store.sealing.sealsWith, unreadable, more };
    }
    case 'submit': {
      const batch = { nowMs, fileId: null, lines: command.lines, rejections: [] };
      return { kind: 'submitted', lines: await store.intake.acceptBatch(batch) };
    }
  }
}

/** The parts of a running worker that a command may concern. */
interface CommandedWorker {
  pausesChanged(): Promise<void>;
  /** Wakes every loop for which the command may have left work. */
  notify(): void;
}

/**
 * Performs an operator's command as `performCommand` does, in the worker, which then looks for the
 * work that it left.
 */
export async function performInWorker(
  worker: CommandedWorker,
  ...[store, command, settings, clock]: Parameters<typeof performCommand>
): Promise<CommandResult> {
  try {
    return await performCommand(store, command, settings, clock);
  } finally {
    // Also after an error: when the commit fails, the command may be on disk all the same. If the
    // worker trusted the error, it would stay paused until its next start, while the store reports
    // no pause.
    if (command.action === 'pause' || command.action === 'resume') await worker.pausesChanged();
    worker.notify();
  }
}

/** The fields of a command for the log: never its lines, which are the shop's data. */
export function loggable(command: StoreCommand): Record<string, unknown> {
  if (command.action === 'submit') return { action: command.action, lines: command.lines.length };
  if (command.action === 'seal_again') return { ...command };
  const { action, actor, reason } = command;
  if (action === 'acknowledge') {
    const { ids, ...filter } = command.which;
    return { action, ...(ids === undefined ? filter : { ids: ids.length }), actor, reason };
  }
  if (action === 'bulk') {
    const { order, references, which } = command;
    return { action, order, ...which, references: references.length, actor, reason };
  }
  if (action === 'rewrite_results') return { action, ...command.which, actor, reason };
  const subject =
    'currency' in command
      ? command.currency
      : 'scope' in command
        ? command.scope
        : 'id' in command
          ? command.id
          : command.reference;
  return { action, subject, actor, reason };
}
