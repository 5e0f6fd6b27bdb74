import { expect, it } from 'vitest';
import { line } from '../support/outbox.ts';
import { VirtualWorker } from '../support/virtual-worker.ts';

it('orders that wait to be read again do not keep the one behind them for seconds, however many there are', async () => {
  const delayed: string[] = [];
  const rechecks = {
    maxAgeMs: () => 3_600_000,
    onDelayed: (source: string) => void delayed.push(source),
  };
  const worker = await VirtualWorker.start({ rechecks });
  const { outbox, machine } = worker;
  for (let id = 1; id <= 350; id += 1) {
    const orderId = `w${id}`;
    const buy = line({ orderId, variant: 'card', extra: { sku: 'CARD', shop_quantity: '1' } });
    await outbox.store.storefronts.takeOrder({
      source: 'shop1',
      orderId,
      modifiedMs: machine.wallMs() - 7_200_000,
      state: 'paid',
      status: 'processing',
      refundCount: 0,
      refundUnclear: false,
      onRefund: 'review',
      actor: 'test',
      nowMs: machine.wallMs(),
      lines: [{ lineId: '1', sku: 'CARD', isMapped: true, remaining: 1, buy, hold: null }],
      unreadable: [],
    });
  }
  await worker.accept(['card']);
  const tookMs = await worker.until(() => worker.sent() === 1, 20_000);
  expect([tookMs < 2000, delayed.length, worker.counts().pending]).toEqual([true, 350, 350]);
  // Nothing wakes the worker for them until they are asked again.
  await worker.pass(60_000);
  expect([delayed.length, worker.sent()]).toEqual([350, 1]);
});
