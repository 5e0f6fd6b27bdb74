import type { Clock } from '../core/clock.ts';
import type { Family } from '../core/order/operation.ts';
import type { CommandResult, OperatorCommand, StoreCommand } from '../core/entry/operator-command.ts';
import type { EntryAction } from '../core/entry/operator-decision.ts';
import { OrderSyncError } from '../core/order-sync-error.ts';
import { readPauseScope } from '../core/decision/pause-scope.ts';
import type { Store } from '../store/store.ts';

/** What a command needs to know of the configuration. */
export interface CommandSettings {
  readonly keyNames: readonly string[];
  readonly referenceExpiryMs: number;
  readonly lookupFamilies: readonly Family[];
}

type EntryCommand = Extract<OperatorCommand, { reference: string }>;

function orderOf(command: EntryCommand): EntryAction {
  switch (command.action) {
    case 'resolve': {
      const { action, as, orderNumber, iccids, note } = command;
      return { action, as, orderNumber, iccids, note };
    }
    case 'reorder':
      return { action: command.action, confirm: command.confirm };
    case 'hold':
    case 'release':
    case 'cancel':
    case 'retry':
      return { action: command.action };
  }
}

/** A pause of a key that is not there would stop nothing, and whoever asked for it would believe that it did. */
function checkKey(text: string, settings: CommandSettings): void {
  const scope = readPauseScope(text);
  if (scope.kind !== 'key' || settings.keyNames.includes(scope.name)) return;
  throw new OrderSyncError('INVALID_INPUT', `No key is called "${scope.name}"`, {
    hint: `the configured keys: ${settings.keyNames.join(', ')}`,
  });
}

/**
 * Does what a person asked for, as one step of the store: within the worker, or beside the outbox when none runs.
 * @throws OrderSyncError NOT_FOUND, INVALID_INPUT, REFUSED
 */
export async function performCommand(
  store: Store,
  command: StoreCommand,
  settings: CommandSettings,
  clock: Pick<Clock, 'wallMs' | 'monoMs' | 'bootId'>,
): Promise<CommandResult> {
  const nowMs = clock.wallMs();
  switch (command.action) {
    case 'hold':
    case 'release':
    case 'cancel':
    case 'retry':
    case 'resolve':
    case 'reorder': {
      const { reference, actor, reason } = command;
      const { referenceExpiryMs, lookupFamilies } = settings;
      const order = orderOf(command);
      const time = { nowMs, nowMono: clock.monoMs(), bootId: clock.bootId ?? null };
      const done = await store.operator.actOnEntry({
        reference,
        order,
        actor,
        reason,
        ...time,
        referenceExpiryMs,
        lookupFamilies,
      });
      return { kind: 'entry', ...done };
    }
    case 'pause': {
      const { scope, actor, reason } = command;
      checkKey(scope, settings);
      await store.operator.pauseScope({ scope, actor, reason, nowMs });
      return { kind: 'scope', scope, paused: true };
    }
    case 'resume': {
      const { scope, actor, reason } = command;
      await store.operator.resumeScope({ scope, actor, reason, nowMs });
      return { kind: 'scope', scope, paused: false };
    }
    case 'rewrite_results': {
      const filter = {
        ...(command.source === null ? {} : { source: command.source }),
        ...(command.orderId === null ? {} : { orderId: command.orderId }),
      };
      return { kind: 'results', due: await store.results.redeliver(filter, nowMs) };
    }
    case 'submit': {
      const { lines } = command;
      return {
        kind: 'submitted',
        lines: await store.intake.acceptBatch({ nowMs, fileId: null, lines, rejections: [] }),
      };
    }
  }
}

/** What of a running worker has to know that a person did something. */
export interface CommandedWorker {
  /** Looks anew at what stands still. */
  pausesChanged(): Promise<void>;
  /** Something may be due. */
  notify(): void;
}

/**
 * Does what a person asked for within a worker, which then looks at what it brought.
 * @throws OrderSyncError as `performCommand` does
 */
export async function performInWorker(
  worker: CommandedWorker,
  ...[store, command, settings, clock]: Parameters<typeof performCommand>
): Promise<CommandResult> {
  try {
    return await performCommand(store, command, settings, clock);
  } finally {
    // Also when it failed: after an error at its commit it may be on the disk all the same. A worker that believed the
    // error would stand still until it is started again, while whoever asks once more is told that nothing stands still.
    if (command.action === 'pause' || command.action === 'resume') await worker.pausesChanged();
    worker.notify();
  }
}

/** What the log says of a command: never its lines, which are the shop's. */
export function loggable(command: StoreCommand): Record<string, unknown> {
  if (command.action === 'submit') return { action: command.action, lines: command.lines.length };
  if (command.action === 'rewrite_results') return { ...command };
  const { action, actor, reason } = command;
  return { action, subject: 'scope' in command ? command.scope : command.reference, actor, reason };
}
