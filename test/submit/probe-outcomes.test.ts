import { afterEach, describe, expect, it } from 'vitest';
import { outcomeRows, withoutAnswer, type OutcomeRow } from '../../src/core/decision/outcome.ts';
import { SystemClock } from '../../src/ops/system-clock.ts';
import { Pauses } from '../../src/submit/pauses.ts';
import { Outbox } from '../support/outbox.ts';

let outbox: Outbox | null = null;
afterEach(async () => {
  await outbox?.close();
  outbox = null;
});

/** Outcomes that show that the API accepts calls: it did what was asked, or rejected this very order. */
const resuming: readonly OutcomeRow[] = [
  'accepted',
  'answer_mismatch',
  'not_found',
  'not_found_unexpected',
  'insufficient_balance',
  'reference_in_use',
  'currency_unavailable',
  'invalid_request',
  'order_refused',
  'invalid_variant',
  'out_of_stock',
  'limit_exceeded',
  'not_api_sellable',
  'plan_unknown',
  'plan_unorderable',
  'topup_not_allowed',
  'not_cancellable',
  'unlisted_code',
  'code_out_of_place',
];

/** A paused account whose probe is due. */
async function pausedAccount() {
  outbox = await Outbox.open();
  const { store } = outbox;
  const clock = new SystemClock();
  const pauses = new Pauses({ store, clock, random: () => 0.5, retryTimeScale: 1 });
  const pause = { scope: 'account', reason: 'api_disabled', message: '', openedBy: 'worker', probeAtMs: 1, nowMs: 1 };
  await store.submission.pauses.open(pause);
  await pauses.refresh();
  const [due] = pauses.due();
  if (due === undefined) throw new Error('no pause is due');
  return { pauses, due, store, clock };
}

describe('a paused scope', () => {
  it.each(outcomeRows.filter((row) => row !== 'crashed'))(
    'is resumed only when its probe shows that the API accepts calls: %s',
    async (row) => {
      const { pauses, due } = await pausedAccount();
      expect(await pauses.judge(due, withoutAnswer(row, true, ''))).toBe(resuming.includes(row));
      expect(pauses.isAccountPaused()).toBe(!resuming.includes(row));
    },
  );

  it('is probed again later when the API still denies it, also after a restart', async () => {
    const { pauses, due, store, clock } = await pausedAccount();
    const before = clock.wallMs();
    await pauses.judge(due, withoutAnswer('api_disabled', true, ''));
    expect(pauses.due()).toEqual([]);
    const [stored] = await store.submission.pauses.all();
    expect(stored).toMatchObject({ scope: 'account', probes: 1 });
    // The second delay: twice the first one.
    expect(stored?.probeAtMs).toBeGreaterThanOrEqual(before + 60_000);
  });
});
