import { stepsOf } from '../test/support/steps.ts';
import { renderResultDocument } from '../src/core/result/result-document.ts';
import type { SealKey } from '../src/core/sealing/seal-keys.ts';
import { close, fulfilled, line, Outbox } from '../test/support/outbox.ts';
import { sealKey } from '../test/support/seal-keys.ts';
import { goal, median, type Row } from './support/row.ts';

const orders = 500;
const rounds = 7;
const unitsOfOrder = 5;
const resultsAtOnce = 100;

interface Cost {
  readonly ms: number;
  readonly cpuMs: number;
}

async function open(keys: readonly SealKey[]): Promise<Outbox> {
  const outbox = await Outbox.open();
  await outbox.reopen(keys);
  return outbox;
}

/**
 * Settles orders of some units each, and delivers their results as text. Codes and commits are
 * real; nothing is sent.
 */
async function settleAndDeliver(outbox: Outbox, round: number): Promise<Cost> {
  const { results } = outbox.store;
  const steps = stepsOf(outbox.store);
  await outbox.accept(
    Array.from({ length: orders }, (_, index) => line({ orderId: `${round}-${index}` })),
  );
  const nowMs = 2000;
  const begunMs = performance.now();
  const begunCpu = process.cpuUsage();
  for (let index = 0; index < orders; index += 1) {
    const attempt = await outbox.opened({ nowMs });
    const units = Array.from({ length: unitsOfOrder }, (_, unit) => ({
      code: `CODE-${round}-${index}-${unit}`,
      pin: '1234',
    }));
    const answer = fulfilled.answer === null ? null : { ...fulfilled.answer, units };
    await steps.closeAttempt(close(attempt, { ...fulfilled, answer }, { nowMs }));
  }
  let bytes = 0;
  for (let due = await results.dueDeliveries('folder', nowMs, resultsAtOnce); due.length > 0; ) {
    for (const { requestId, version, document } of due) {
      bytes += renderResultDocument(document).length;
      await results.closeDelivery({ requestId, sink: 'folder', version, nowMs });
    }
    due = await results.dueDeliveries('folder', nowMs, resultsAtOnce);
  }
  const { user, system } = process.cpuUsage(begunCpu);
  if (bytes < orders * unitsOfOrder * 20) throw new Error('the results lack codes');
  return { ms: performance.now() - begunMs, cpuMs: (user + system) / 1000 };
}

/**
 * The same work with a sealing key and without one, in turns, because other programs use the
 * machine, too.
 */
export async function measure(): Promise<readonly Row[]> {
  const outboxes = { sealed: await open([sealKey('k1')]), clear: await open([]) };
  const costs: Record<keyof typeof outboxes, Cost[]> = { sealed: [], clear: [] };
  for (let round = 0; round <= rounds; round += 1) {
    for (const kind of ['clear', 'sealed'] as const) {
      const cost = await settleAndDeliver(outboxes[kind], round);
      // The first round fills caches.
      if (round > 0) costs[kind].push(cost);
    }
  }
  for (const outbox of Object.values(outboxes)) await outbox.close();
  const of = (kind: keyof typeof outboxes, part: keyof Cost): number =>
    median(costs[kind].map((cost) => cost[part]));
  const ratio = of('clear', 'ms') / of('sealed', 'ms');
  const each = (kind: keyof typeof outboxes, part: keyof Cost): string =>
    ((of(kind, part) / orders) * 1000).toFixed(0);
  return [
    {
      bench: 'sealing',
      what: `settling and delivering ${orders} orders of ${unitsOfOrder} codes, sealed`,
      result: `${each('sealed', 'ms')} µs an order, in clear ${each('clear', 'ms')} µs`,
      ratio: ratio.toFixed(2),
      goal: goal('rate 0.9', ratio >= 0.9),
    },
    {
      bench: 'sealing',
      what: 'of which processor time',
      result: `${each('sealed', 'cpuMs')} µs an order, in clear ${each('clear', 'cpuMs')} µs`,
      ratio: (of('clear', 'cpuMs') / of('sealed', 'cpuMs')).toFixed(2),
      goal: '',
    },
  ];
}
