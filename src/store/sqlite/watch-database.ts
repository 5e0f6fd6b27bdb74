import type { Clock } from '../../core/clock.ts';
import type { Store } from '../store.ts';

const everyMs = 30_000;

/** Checks the database file every 30 s: what is written into a file that was removed is lost. */
export function watchDatabase(store: Store, clock: Clock): { failed: Promise<never>; stop(): void } {
  const end = new AbortController();
  const failure = Promise.withResolvers<never>();
  failure.promise.catch(() => undefined);
  const watch = async (): Promise<void> => {
    while (!end.signal.aborted) {
      await clock.sleep(everyMs, end.signal);
      if (!end.signal.aborted) await store.checkHealth();
    }
  };
  watch().catch((error: unknown) => failure.reject(error));
  return { failed: failure.promise, stop: () => end.abort() };
}
