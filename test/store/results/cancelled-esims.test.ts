import { describe, expect, it, onTestFinished } from 'vitest';
import { readConfirmed, resultEvents } from '../../../src/core/result/result-events.ts';
import { answer, close, fulfilled, line, Outbox } from '../../support/outbox.ts';
import { act, orders } from '../../support/operator.ts';
import { stepsOf } from '../../support/steps.ts';

const iccids = ['8944000000000000001', '8944000000000000019'] as const;
const esim = { operation: 'esim_order', variant: null, plan: 'es-1', quantity: 2 } as const;
const cancel = { operation: 'esim_cancel', variant: null, quantity: null } as const;
const topup = { operation: 'esim_topup', variant: null, plan: 'top-1', quantity: null } as const;

/** An outbox in which the order `1001` got both eSIMs; all results are delivered. */
async function withEsims(): Promise<Outbox> {
  const outbox = await Outbox.open();
  onTestFinished(() => outbox.close());
  await outbox.accept([line(esim)]);
  await settle(outbox, {
    ...answer,
    units: iccids.map((iccid) => ({ iccid, lpa: `LPA:1$a.b$${iccid}` })),
  });
  const [due] = await dueOf(outbox);
  const { version = 0 } = due ?? {};
  await outbox.store.results.closeDelivery({ requestId: 1, sink: 'folder', version, nowMs: 3000 });
  return outbox;
}

async function settle(outbox: Outbox, shown: typeof answer): Promise<void> {
  const attempt = await outbox.opened({ nowMs: 2000 });
  await stepsOf(outbox.store).closeAttempt(close(attempt, { ...fulfilled, answer: shown }));
}

const dueOf = (outbox: Outbox) => outbox.store.results.dueDeliveries('folder', 99_000_000, 10);
const entryOf = (outbox: Outbox) =>
  outbox.store.read.resultDocument(1).document.lines[0]?.entries[0];

describe('the result of an order whose eSIM was cancelled by another one', () => {
  it('is due again, and names the eSIM; the customer keeps the others', async () => {
    const outbox = await withEsims();
    expect(entryOf(outbox)).not.toHaveProperty('cancelled_iccids');
    await outbox.accept([line({ ...cancel, orderId: 'c1', iccid: iccids[1] })]);
    expect((await dueOf(outbox)).map(({ requestId }) => requestId)).toEqual([]);
    await settle(outbox, { ...answer, units: [] });
    expect((await dueOf(outbox)).map(({ requestId }) => requestId)).toEqual(
      expect.arrayContaining([1, 2]),
    );
    expect(entryOf(outbox)).toMatchObject({ state: 'fulfilled', cancelled_iccids: [iccids[1]] });
    expect(entryOf(outbox)?.units).toHaveLength(2);
  });

  it('is due again where an operator found that the eSIM is cancelled', async () => {
    const outbox = await withEsims();
    await outbox.accept([line({ ...cancel, orderId: 'c1', iccid: iccids[0] })]);
    const attempt = await outbox.opened({ nowMs: 2000 });
    const review = {
      ...fulfilled,
      state: 'needs_review',
      answer: null,
      reviewReason: '?',
    } as const;
    await stepsOf(outbox.store).closeAttempt(close(attempt, review));
    expect(entryOf(outbox)).not.toHaveProperty('cancelled_iccids');
    const { reference } = attempt.entry;
    await act(outbox, orders(outbox).resolve, { reference });
    expect(entryOf(outbox)).toMatchObject({ cancelled_iccids: [iccids[0]] });
    expect((await dueOf(outbox)).map(({ requestId }) => requestId)).toContain(1);
  });

  it('is not due again once its codes were shredded: the shop would lose those that it has', async () => {
    const outbox = await withEsims();
    const old = {
      beforeMs: 9_000_000_000_000,
      after: null,
      limit: 10,
      nowMs: 9_000,
      reason: 'old',
    };
    expect(await outbox.store.codeRetention.shredNext(old)).toMatchObject({
      shredded: 1,
    });
    await outbox.accept([line({ ...cancel, orderId: 'c1', iccid: iccids[1] })]);
    await settle(outbox, { ...answer, units: [] });
    expect((await dueOf(outbox)).map(({ requestId }) => requestId)).toEqual([2]);
    expect(entryOf(outbox)).toMatchObject({ cancelled_iccids: [iccids[1]] });
  });

  it('is told by an event of its own', async () => {
    const outbox = await withEsims();
    const wants = ['order.settled'] as const;
    const read = () => outbox.store.read.resultDocument(1);
    const first = read();
    const { after } = resultEvents(first.document, first.version, {
      wants,
      confirmed: readConfirmed(null),
    });
    await outbox.accept([line({ ...cancel, orderId: 'c1', iccid: iccids[1] })]);
    await settle(outbox, { ...answer, units: [] });
    const { document, version } = read();
    const { events } = resultEvents(document, version, { wants, confirmed: after });
    expect(events.map(({ body }) => body.type)).toEqual(['order.settled']);
  });
});

describe('an order', () => {
  it('shows what other orders, also of other sources, did with its eSIMs', async () => {
    const outbox = await withEsims();
    const [other] = await outbox.accept([
      line({ ...topup, source: 'shop2', orderId: 't1', iccid: iccids[0] }),
    ]);
    expect(outbox.store.read.showOrder('shop1', '1001')?.esimOrders).toEqual([
      {
        iccid: iccids[0],
        operation: 'esim_topup',
        state: 'pending',
        source: 'shop2',
        orderId: 't1',
        reference: other?.reference,
      },
    ]);
    expect(outbox.store.read.showOrder('shop2', 't1')?.esimOrders).toEqual([]);
    expect(JSON.stringify(outbox.store.read.resultDocument(2).document)).not.toContain('1001');
  });
});
