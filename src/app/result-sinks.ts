import type { Config } from '../config/config.ts';
import type { ResultSink } from '../store/results/results.ts';

/** The sinks to which the outbox makes results due. `buildResults` builds what delivers to each. */
export function resultSinks({ results }: Pick<Config, 'results'>): readonly ResultSink[] {
  const everySource = { sources: null };
  return [
    { name: 'folder', ...everySource },
    ...(results.callback === null ? [] : [{ name: 'callback', ...everySource }]),
  ];
}
