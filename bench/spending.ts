import SqliteDatabase from 'better-sqlite3';
import { spendSection, type SpendLimit } from '../src/buying/spending/settings.ts';
import { close, fulfilled, line, Outbox } from '../test/support/outbox.ts';
import { stepsOf } from '../test/support/steps.ts';
import { settleOlder } from './size/settle-older.ts';
import { goal, median, type Row } from './support/row.ts';

const linesAtOnce = 1000;
const rounds = 200;
const starts = 15;
/** Twenty a minute, the limit of a key (Spec 8). */
const chargedInDay = 20 * 60 * 24;
const dayMs = 86_400_000;

const limitsOf = (product: string): readonly SpendLimit[] =>
  spendSection.parse({
    limits: [
      ...(['day', 'hour'] as const).flatMap((per) => [
        { amount: '900000000.00 USD', per },
        { amount: '900000000.00 USD', per, source: 'shop1' },
        { amount: '900000000.00 USD', per, product },
        { amount: '900000000.00 USD', per, source: 'shop1', product },
      ]),
      { amount: '900000000.00 USD', per: 'order' },
      { amount: '900000000.00 USD', per: 'order', source: 'shop1' },
    ],
  }).limits;

/** Half of the entries are settled, the last of them within a day. */
async function fill(entries: number): Promise<{ outbox: Outbox; nowMs: number }> {
  const outbox = await Outbox.open();
  for (let first = 0; first < entries; first += linesAtOnce) {
    const lines = Array.from({ length: linesAtOnce }, (_, index) =>
      line({ orderId: `order-${first + index}`, variant: `card-${index % 50}` }),
    );
    await outbox.accept(lines);
  }
  const database = new SqliteDatabase(outbox.path);
  const setTime = (steadyMs: number) =>
    database.prepare('UPDATE steady_time SET steady_ms = ?').run(steadyMs);
  const nowMs = 3 * dayMs;
  const charged = Math.min(chargedInDay, entries / 4);
  settleOlder(outbox.path, entries / 2 - charged, 1000);
  setTime(nowMs - dayMs / 2);
  settleOlder(outbox.path, entries / 2, nowMs - dayMs / 2);
  setTime(nowMs);
  database.exec("UPDATE entries SET state = 'fulfilled' WHERE state IN ('placed', 'waiting')");
  database.close();
  await outbox.reopen();
  outbox.setTime(nowMs);
  return { outbox, nowMs };
}

/** Claims the next order, in ms; settles it. */
async function claim(outbox: Outbox, spendLimits: readonly SpendLimit[], nowMs: number) {
  const begunMs = performance.now();
  const attempt = await outbox.opened({ nowMs, spendLimits });
  const tookMs = performance.now() - begunMs;
  const answer = fulfilled.answer && { ...fulfilled.answer, cost: '5.00' };
  const settled = { ...fulfilled, answer };
  await stepsOf(outbox.store).closeAttempt(close(attempt, settled, { nowMs }));
  return tookMs;
}

/** Opens the outbox and claims the first order, in ms. */
async function start(outbox: Outbox, spendLimits: readonly SpendLimit[], nowMs: number) {
  const begunMs = performance.now();
  await outbox.reopen();
  outbox.setTime(nowMs);
  await stepsOf(outbox.store).releaseWithinLimits(spendLimits, nowMs);
  const openedMs = performance.now() - begunMs;
  return openedMs + (await claim(outbox, spendLimits, nowMs));
}

/** With ten limits and without any, in turns, because other programs use the machine, too. */
export async function measure(entries = 1_000_000): Promise<readonly Row[]> {
  const { outbox, nowMs } = await fill(entries);
  const kinds = { none: [], ten: limitsOf('card-1') };
  const inTurns = async (
    count: number,
    of: typeof claim,
  ): Promise<Record<'none' | 'ten', number>> => {
    const found: Record<'none' | 'ten', number[]> = { none: [], ten: [] };
    for (let round = -2; round < count; round += 1)
      for (const kind of ['none', 'ten'] as const) {
        const tookMs = await of(outbox, kinds[kind], nowMs + (round + 2) * 100);
        // The first rounds fill caches.
        if (round >= 0) found[kind].push(tookMs);
      }
    return { none: median(found.none), ten: median(found.ten) };
  };
  const rowOf = (what: string, { none, ten }: Record<'none' | 'ten', number>): Row => ({
    bench: 'spending',
    what: `${what} at ${entries} entries with ten limits on spending`,
    result: `${ten.toFixed(1)} ms`,
    ratio: `${(ten / none).toFixed(2)} x without limits`,
    goal: goal('1.1 x', ten / none <= 1.1),
  });
  try {
    return [
      rowOf('a claim', await inTurns(rounds, claim)),
      rowOf('a start and the first claim', await inTurns(starts, start)),
    ];
  } finally {
    await outbox.close();
  }
}
