import type { Config } from '../config/config.ts';
import { callbackSinkName } from '../results/callback-sink.ts';
import type { Shop } from '../storefronts/settings.ts';
import { writeBackName } from '../storefronts/write-back.ts';
import { folderSinkName } from '../store/results/results.ts';
import type { ResultSink } from '../store/sqlite/outbox.ts';

/** The sinks to which the outbox makes results due. `buildResults` builds what delivers to each. */
export function resultSinks({ results, intake }: Pick<Config, 'results' | 'intake'>): readonly ResultSink[] {
  return [
    { name: folderSinkName, sources: null },
    ...results.callbacks.map(({ name, sources }) => ({ name: callbackSinkName(name), sources })),
    ...writtenShops(intake.shops).map((shop) => ({ name: writeBackName(shop), sources: [shop.source] })),
  ];
}

/** The shops into whose orders results are written. */
export const writtenShops = (shops: readonly Shop[]): readonly Shop[] =>
  shops.filter(({ rest, writeBack }) => rest !== null && writeBack !== null);
