import { mkdirSync } from 'node:fs';
import { WriteBack } from '../results/write-back.ts';
import type { Store } from '../store/store.ts';
import type { CurrentConfig, WorkerDeps } from './worker-deps.ts';

/** Builds the write-back of results and creates its folder. */
export function buildResults(deps: WorkerDeps, store: Store, current: CurrentConfig): WriteBack {
  const { config, clock, version } = deps;
  const { folder, callback } = config.results;
  mkdirSync(folder, { recursive: true, mode: 0o750 });
  return new WriteBack({
    store,
    clock,
    logger: deps.logger.child({ component: 'results' }),
    folder,
    // A reload can change the address and the secret of the callback. It cannot add or remove the callback.
    callback: callback === null ? null : () => current.config.results.callback ?? callback,
    version,
    retryTimeScale: config.submit.retryTimeScale,
  });
}
