import { z } from 'zod';
import type { Logger } from 'pino';
import type { Clock } from '../core/clock.ts';
import { parseExactJson } from '../core/exact-json.ts';
import { messageOf } from '../core/message-text.ts';
import { fileIdOfCsvResult } from '../core/order/order-file-names.ts';
import { resultFileName } from '../core/result/result-document.ts';
import type { Store } from '../store/store.ts';
import { csvResultFolder } from './csv-results.ts';
import type { ResultFile, ResultFolder } from './result-folder.ts';

interface OldResultsDeps {
  readonly store: Pick<Store, 'results'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly folder: ResultFolder;
  /** A clock that is wrong could remove what is new: then nothing is removed. */
  readonly apiClock: { read(): { readonly verdict: string } };
  readonly keepDays: number;
}

const dayMs = 86_400_000;
/** Orders come first: of the time, at most a quarter is spent on this. */
const pausePerWork = 3;
const named = z.object({ source: z.string(), order_id: z.string() });

/**
 * Removes the files of results that are older than `keepDays` and not needed any more: their orders
 * are settled, and were delivered everywhere, for so long. Files that are no results stay. The
 * outbox still has every result.
 */
export async function removeOldResults(deps: OldResultsDeps, signal: AbortSignal): Promise<void> {
  const { clock, logger, folder, apiClock, keepDays } = deps;
  if (apiClock.read().verdict === 'wrong') {
    logger.warn('no old results are removed, because the clock of this machine is wrong');
    return;
  }
  const beforeMs = clock.wallMs() - keepDays * dayMs;
  // The next night tries again.
  const warn = (error: unknown, file?: string): void =>
    logger.warn({ file, err: messageOf(error) }, 'an old result could not be removed');
  let removed = 0;
  let startMs = clock.steadyMs();
  try {
    for await (const file of folder.writtenBefore(beforeMs)) {
      if (signal.aborted) return;
      const isRemoved = await folder
        .remove(file, beforeMs, () => isNeeded(deps, file, beforeMs))
        .catch((error: unknown) => warn(error, file.name));
      if (isRemoved === true) removed += 1;
      await clock.sleep(Math.ceil(pausePerWork * (clock.steadyMs() - startMs)), signal);
      startMs = clock.steadyMs();
    }
  } catch (error) {
    warn(error);
  }
  if (removed > 0) logger.info({ removed }, 'old results were removed');
}

async function isNeeded(
  deps: OldResultsDeps,
  { subfolder, name }: ResultFile,
  beforeMs: number,
): Promise<boolean> {
  const { store, folder } = deps;
  const fileId = subfolder === csvResultFolder ? fileIdOfCsvResult(name) : null;
  if (fileId !== null) return await store.results.csvFiles.isNeeded(fileId, beforeMs);
  if (!name.endsWith('.json')) return true;
  const order = named.safeParse(parseExactJson(await folder.read(subfolder, name)));
  if (!order.success || order.data.source !== subfolder) return true;
  // It has the name of another file: somebody made a copy.
  if (![true, false].some((sharesName) => resultFileName(order.data, sharesName) === name))
    return true;
  return await store.results.isNeeded({
    source: order.data.source,
    orderId: order.data.order_id,
    beforeMs,
  });
}
