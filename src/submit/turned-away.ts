import type { Outcome } from '../core/decision/outcome.ts';
import type { AttemptDeps } from './attempt.ts';

/** How long to leave a key alone after a 429 that does not say how long (Spec 7: "Wait a few seconds, retry."). */
const defaultBackOffMs = 5000;

/** After a 429 to a call that belongs to no attempt: the key is left alone, also by the next run of the worker. */
export async function backOffIfRateLimited(
  deps: Pick<AttemptDeps, 'gate' | 'store' | 'clock'>,
  keyName: string,
  outcome: Outcome,
): Promise<void> {
  if (outcome.row !== 'rate_limited') return;
  const { gate, store, clock } = deps;
  const nowMono = clock.monoMs();
  const rest = gate.rateLimited(keyName, nowMono + (outcome.retryAfterMs ?? defaultBackOffMs));
  await store.recordBackOff(rest, { nowMono, bootId: clock.bootId ?? null, nowMs: clock.wallMs() });
}
