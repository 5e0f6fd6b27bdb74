import { mkdirSync } from 'node:fs';
import { CallbackSink } from '../results/callback-sink.ts';
import { CustomerTexts } from '../results/customer/customer-texts.ts';
import { type Sink, WriteBack } from '../results/delivery-loop.ts';
import { FolderSink } from '../results/folder-sink.ts';
import type { CallbackSettings } from '../results/settings.ts';
import type { Store } from '../store/store.ts';
import type { CurrentConfig, WorkerDeps } from './worker-deps.ts';

/**
 * Builds the write-back of results and creates its folder.
 * @throws OrderSyncError CONFIG_INVALID when a template of the text for customers cannot be used
 */
export function buildResults(deps: WorkerDeps, store: Store, current: CurrentConfig): WriteBack {
  const { config, clock, version } = deps;
  const { folder, callback, customer } = config.results;
  const logger = deps.logger.child({ component: 'results' });
  const texts = customer === null ? null : new CustomerTexts(customer, logger);
  mkdirSync(folder, { recursive: true, mode: 0o750 });
  const sinks: Sink[] = [new FolderSink(folder)];
  if (callback !== null) {
    // A reload can change the address and the secret of the callback. It cannot add or remove the callback.
    const receiver = (): CallbackSettings => current.config.results.callback ?? callback;
    sinks.push(new CallbackSink({ receiver, clock, version, retryTimeScale: config.submit.retryTimeScale }));
  }
  return new WriteBack({ store, clock, logger, texts }, sinks);
}
