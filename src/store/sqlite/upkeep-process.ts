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

function answerTo(order: UpkeepOrder): UpkeepAnswer<unknown> {
  try {
    return { failed: false, result: resultOf(order) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (!(error instanceof OrderSyncError)) return { failed: true, code: null, message, hint: null };
    return { failed: true, code: error.code, message, hint: error.hint ?? null };
  }
}

function resultOf(order: UpkeepOrder): unknown {
  if (order.job === 'backup') return backUpDatabase(...order.values);
  return order.job === 'restore' ? restoreDatabase(...order.values) : inspectDatabase(...order.values);
}
