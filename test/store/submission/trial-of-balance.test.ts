import { afterEach, beforeEach, expect, it } from 'vitest';
import { answer, close, emptyBalance, fulfilled, line, Outbox } from '../../support/outbox.ts';

let outbox: Outbox;
beforeEach(async () => {
  outbox = await Outbox.open();
});
afterEach(() => outbox.close());

const scope = 'balance:USD';

/** Sends a trial of the paused balance, which refuses it; resolves with the product. */
async function refusedTrial(nowMs: number): Promise<string | null> {
  const attempt = await outbox.opened({ nowMs, trials: [scope] });
  await outbox.store.submission.closeAttempt(close(attempt, { ...emptyBalance, dueAtMs: nowMs + 600_000 }));
  await outbox.store.submission.pauses.postponeProbe(scope, nowMs);
  return attempt.entry.variant;
}

it('an order of unknown cost is a trial of its paused balance in turn, however many dear ones of known cost come', async () => {
  for (const [index, cost] of ['90.00', '80.00'].entries()) {
    await outbox.accept([line({ orderId: `before${index}`, variant: `dear${index}` })]);
    const units = [{ code: `CODE-OF-${index}` }];
    const paid = { ...fulfilled, answer: { ...answer, cost, orderNumber: `N-${index}`, units } };
    await outbox.store.submission.closeAttempt(close(await outbox.opened(), paid));
  }
  const reason = { reason: 'insufficient_balance', message: 'too low', openedBy: 'worker' };
  await outbox.store.submission.pauses.open({ scope, ...reason, probeAtMs: 2000, nowMs: 2000 });
  await outbox.accept([
    line({ orderId: 'new', variant: 'never-bought' }),
    line({ orderId: 'other', variant: 'new-too' }),
  ]);
  const tried: (string | null)[] = [];
  for (let turn = 0; turn < 8; turn += 1) {
    // New dear orders, which the balance has not refused yet.
    const dear = [0, 1].map((index) => line({ orderId: `turn${turn}-${index}`, variant: `dear${index}` }));
    await outbox.accept(dear, null, 3000 + turn);
    tried.push(await refusedTrial(4000 + turn));
  }
  // By turns the cheapest known one, and one of unknown cost; after these were refused, the cheapest new one.
  expect(new Set([tried[1], tried[3]])).toEqual(new Set(['never-bought', 'new-too']));
  expect(tried.filter((product) => product !== 'dear1')).toHaveLength(2);
});
