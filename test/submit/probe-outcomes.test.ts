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

/** What proves that the API itself let the call through its door: it did what was asked, or refused that very thing. */
const speaks: readonly OutcomeRow[] = [
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

describe('a scope that stands still', () => {
  it.each(outcomeRows.filter((row) => row !== 'crashed'))(
    'goes on only when the API let a probe in: %s',
    async (row) => {
      outbox = await Outbox.open();
      const { store } = outbox;
      const board = new Pauses({ store, clock: new SystemClock(), random: () => 0.5, retryTimeScale: 1 });
      await store.submission.pauses.open({
        scope: 'account',
        reason: 'api_disabled',
        message: '',
        openedBy: 'worker',
        probeAtMs: 1,
        nowMs: 1,
      });
      await board.refresh();
      const [pause] = board.due();
      if (pause === undefined) throw new Error('no pause is due');
      expect(await board.judge(pause, withoutAnswer(row, true, ''))).toBe(speaks.includes(row));
      expect(board.isAccountPaused()).toBe(!speaks.includes(row));
    },
  );
});
