import { spendSection, type SpendLimit } from '../src/buying/spending/settings.ts';
import { close, fulfilled, line, Outbox } from '../test/support/outbox.ts';
import { stepsOf } from '../test/support/steps.ts';
import { settleOlder } from './size/settle-older.ts';
import { goal, median, type Row } from './support/row.ts';
import { tenLimits } from './support/ten-limits.ts';

const linesAtOnce = 1000;
const rounds = 200;
/** Twenty a minute (Spec 8), of which each kind has half. */
const callEveryMs = 6000;

/** Half of the entries are settled, the last of them within a day. */
async function fill(entries: number): Promise<{ outbox: Outbox; nowMs: number }> {
  const outbox = await Outbox.open();
  for (let first = 0; first < entries; first += linesAtOnce) {
    const lines = Array.from({ length: linesAtOnce }, (_, index) =>
      line({ orderId: `order-${first + index}`, variant: `card-${index % 50}` }),
    );
    await outbox.accept(lines);
  }
  settleOlder(outbox.path, entries / 2, 1000);
  await outbox.reopen();
  const [{ nowMs } = { nowMs: 0 }] = outbox.rows<{ nowMs: number }>(
    'SELECT CAST(steady_ms AS INTEGER) AS nowMs FROM steady_time',
  );
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

/** With ten limits and without any, in turns, because other programs use the machine, too. */
export async function measure(entries = 1_000_000): Promise<readonly Row[]> {
  const { outbox, nowMs } = await fill(entries);
  const limits = {
    none: [],
    ten: spendSection.parse({ limits: tenLimits('shop1', 'card-1') }).limits,
  };
  const found: Record<keyof typeof limits, number[]> = { none: [], ten: [] };
  const firstMs = await claim(outbox, limits.ten, nowMs);
  for (let round = 0; round < rounds; round += 1)
    for (const kind of ['none', 'ten'] as const)
      found[kind].push(await claim(outbox, limits[kind], nowMs + round * callEveryMs));
  await outbox.close();
  const [none, ten] = [median(found.none), median(found.ten)];
  return [
    {
      bench: 'spending',
      what: `a claim at ${entries} entries with ten limits on spending`,
      result: `${ten.toFixed(1)} ms, the first one ${firstMs.toFixed(0)} ms`,
      ratio: `${(ten / none).toFixed(2)} x without limits`,
      goal: goal('1.1 x', ten / none <= 1.1),
    },
  ];
}
