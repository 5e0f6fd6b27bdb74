import { expect, it, onTestFinished } from 'vitest';
import { Installation, order, type LogLine } from '../support/worker-process.ts';

const plans = ['es-1gb-7d', 'es-3gb-15d'];
const esim = (id: number): string =>
  JSON.stringify({
    source: 'shop',
    order_id: `esim-${id}`,
    currency: 'USD',
    lines: [{ line_id: '1', type: 'esim_order', plan: plans[id % plans.length], quantity: 1 }],
  });

const isPauseOf =
  (start: string) =>
  ({ msg, scope }: LogLine): boolean =>
    msg === 'scope paused' && String(scope).startsWith(start);

it('ends no paid order where base_url has a path too much: its 404 proves nothing until such a call was accepted', async () => {
  const place = await Installation.open({ timeScale: 1 });
  onTestFinished(() => place.close());
  // The sandbox answers a path that it does not have as the API answers an order that it does not
  // have.
  place.configure((config) => (config.wholesale.base_url += '/v1'));
  const worker = place.start();
  await worker.started();
  const numbers = Array.from({ length: 15 }, (_, index) => index + 1);
  place.drop('orders.ndjson', `${[...numbers.map(esim), ...numbers.map(order)].join('\n')}\n`);
  await worker.line(isPauseOf('variant:'));
  await worker.line(isPauseOf('plan:'));
  const counts = place.query<{ state: string; n: number }>(
    'SELECT state, count(*) AS n FROM outbox GROUP BY state',
  );
  const states = Object.fromEntries(counts.map(({ state, n }) => [state, n]));
  expect(states).not.toHaveProperty('rejected');
  // Each of them waits for a person, who reads where to look; the others were not sent.
  expect(states['needs_review']).toBeGreaterThanOrEqual(8);
  expect(states['needs_review']).toBeLessThanOrEqual(16);
  const [reviewed] = place.query<{ review_reason: string }>(
    "SELECT review_reason FROM outbox WHERE state = 'needs_review' AND operation = 'esim_order'",
  );
  expect(reviewed?.review_reason).toContain('is its path right, and wholesale.base_url?');
});
