import process from 'node:process';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { backUpDatabase, restoreDatabase } from './backup.ts';
import { inspectDatabase } from './inspect.ts';
import type { UpkeepAnswer, UpkeepOrder } from './run-upkeep.ts';

/*
 * A process of its own for what reads the whole database: SQLite does that in one call, in which a process can do nothing
 * else. `run-upkeep.ts` starts it, gives it one order and gets one answer.
 */
process.once('message', (order: UpkeepOrder) => {
  process.send?.(answerTo(order), () => process.disconnect());
});

function answerTo(order: UpkeepOrder): UpkeepAnswer {
  try {
    if (order.task === 'backup') return { kind: 'backup', backup: backUpDatabase(order.path, order) };
    if (order.task === 'restore') return { kind: 'restore', replaced: restoreDatabase(order.path, order.from) };
    return { kind: 'check', inspection: inspectDatabase(order.path, order.isQuick) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (!(error instanceof OrderSyncError)) return { kind: 'failed', code: null, message, hint: null };
    return { kind: 'failed', code: error.code, message, hint: error.hint ?? null };
  }
}
