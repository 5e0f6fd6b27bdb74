import { afterEach, expect, it } from 'vitest';
import { startSubmission, type Submission } from '../support/submission.ts';

let open: Submission | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

/** A worker whose first order is answered with this cost. */
async function charged(total: unknown): Promise<Submission> {
  const body = JSON.stringify({ number: 'G1', status: 'completed', codes: ['AAAA-BBBB'], total });
  open = await startSubmission({
    sandbox: {
      limits: { enabled: false },
      faults: [
        {
          fault: { fault: 'answer', status: 200, body, when: 'after' },
          match: { operation: 'gift_card_order' },
          at: [1],
        },
      ],
    },
  });
  await open.accept([{}]);
  await open.settled();
  return open;
}
const uncounted = ({ store: { read } }: Submission) => {
  const rows = read.attention(9).map(({ kind, message }) => [kind, message]);
  const nowMs = Date.now();
  const spent = read.spending({ fromMs: nowMs - 86_400_000, untilMs: nowMs + 1 });
  return { rows, spent };
};

it.each([
  ['10,10', '10,10'],
  ['1.01e1', '1.01e1'],
  [1.01e21, '1.01e+21'],
  ['1,234.50', '1,234.50'],
  ['-10.10', '-10.10'],
  [-10.1, '-10.1'],
  ['+10.10', '+10.10'],
  // It may be a code.
  ['ABCD-1234', '(a text)'],
])(
  'an order with the cost %s is delivered, and its cost is told and not counted',
  async (total, told) => {
    const worker = await charged(total);
    expect(worker.counts()).toMatchObject({ fulfilled: 1 });
    const { rows, spent } = uncounted(worker);
    expect(rows).toEqual([
      ['uncounted_cost', `the cost of the order is not a plain amount: ${told}`],
    ]);
    expect(spent).toMatchObject([{ orders: 0, spent: '0.00', uncounted: 1 }]);
    const [entry] = worker.store.read.resultDocument(1).document.lines[0]?.entries ?? [];
    expect(entry).toMatchObject({ state: 'fulfilled', cost: null });
  },
);

it.each([
  ['10.10', '10.10', 0],
  [0, '0.00', 0],
  [null, '0.00', 1],
])('an order with the cost %s needs no attention', async (total, amount, without) => {
  const worker = await charged(total);
  const { rows, spent } = uncounted(worker);
  expect(rows).toEqual([]);
  expect(spent).toMatchObject([{ spent: amount, uncounted: without }]);
});
