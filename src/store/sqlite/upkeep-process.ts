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

function answerTo({ job, values }: UpkeepOrder): UpkeepAnswer<unknown> {
  try {
    if (job === 'backup') return { result: backUpDatabase(...values) };
    return { result: job === 'restore' ? restoreDatabase(...values) : inspectDatabase(...values) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (!(error instanceof OrderSyncError)) return { failed: { message } };
    return { failed: { code: error.code, message, ...(error.hint === undefined ? {} : { hint: error.hint }) } };
  }
}
