import type { Reply } from '../support/shops/shop-order.ts';
import type { SeededRandom } from './seeded-random.ts';
import { receiverDeadlineMs, type ReceiverOutage, type ReceiverTroubles } from './sinks-plan.ts';

/**
 * What happens to one call. `refuse`: answered with this, not processed. `lost`: the connection
 * ends before it is processed. `unanswered`: it ends after that. `late`: it ends at once, and the
 * call is processed so many ms later. `silent`: it is neither processed nor answered. `slow`: it is
 * processed and answered after so many ms, perhaps after its deadline.
 */
export type ReceiverFault =
  | { readonly kind: 'none' | 'lost' | 'unanswered' | 'silent' }
  | { readonly kind: 'refuse'; readonly reply: Reply }
  | { readonly kind: 'late' | 'slow'; readonly ms: number };

const refuse = (status: number, headers: Readonly<Record<string, string>> = {}): ReceiverFault => ({
  kind: 'refuse',
  reply: { status, body: {}, headers },
});

const ofOutage: Readonly<Record<ReceiverOutage['kind'], ReceiverFault>> = {
  refused: { kind: 'lost' },
  silent: { kind: 'silent' },
  server_error: refuse(500),
  maintenance: refuse(503, { 'retry-after': '120' }),
  redirect: refuse(302, { location: 'https://login.example/' }),
  rate_limited: refuse(429, { 'retry-after': '90' }),
};

/** The outage that is under way; null: none. */
export const outageAt = ({ outages }: ReceiverTroubles, nowMs: number): ReceiverOutage | null =>
  outages.find(({ fromMs, untilMs }) => nowMs >= fromMs && nowMs < untilMs) ?? null;

/** @param areFaultsOff whether calls have no faults of their own any more */
export function drawReceiverFault(
  random: SeededRandom,
  troubles: ReceiverTroubles,
  { nowMs, areFaultsOff }: { readonly nowMs: number; readonly areFaultsOff: boolean },
): ReceiverFault {
  const outage = outageAt(troubles, nowMs);
  if (outage !== null) return ofOutage[outage.kind];
  if (areFaultsOff || !random.chance(troubles.faultShare)) return { kind: 'none' };
  return random.pick<() => ReceiverFault>(
    () => refuse(429, { 'retry-after': String(random.pick(1, 20, 90)) }),
    () => refuse(500),
    () => refuse(503, random.chance(0.5) ? { 'retry-after': '5' } : {}),
    () => refuse(302, { location: 'https://login.example/' }),
    () => ({ kind: 'lost' }),
    () => ({ kind: 'unanswered' }),
    () => ({ kind: 'unanswered' }),
    () => ({ kind: 'silent' }),
    // A call that was given up is processed within one more deadline, or never.
    () => ({ kind: 'late', ms: random.int(1, receiverDeadlineMs - 1000) }),
    () => ({ kind: 'slow', ms: random.int(1000, 2 * receiverDeadlineMs - 1000) }),
  )();
}
