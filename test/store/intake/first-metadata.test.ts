import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { line, Outbox } from '../../support/outbox.ts';

let outbox: Outbox;
beforeEach(async () => {
  outbox = await Outbox.open();
});
afterEach(() => outbox.close());

const shown = () => outbox.store.read.resultDocument(1).document.metadata;
const refused = {
  lineNumber: 1,
  source: 'shop1',
  orderId: '1001',
  lineId: '1',
  code: 'invalid_field',
  field: 'quantity',
};

/** All lines of the order are rejected, so it is known and has no accepted line. */
async function refuse(): Promise<void> {
  const rejections = [{ ...refused, rule: 'must be a whole number', value: 'two' }];
  await outbox.store.intake.acceptBatch({ nowMs: 500, fileId: null, lines: [], rejections });
}

describe('the metadata of an order', () => {
  it('comes with its first accepted line, also when all of its lines were rejected before', async () => {
    await refuse();
    await outbox.accept([line({ metadata: { cart: 77 } })]);
    expect(shown()).toEqual({ cart: 77 });
  });

  it('comes with an order over HTTP, too', async () => {
    await refuse();
    await outbox.store.intake.acceptRequests([
      { nowMs: 600, lines: [line({ metadata: { cart: 78 } })] },
    ]);
    expect(shown()).toEqual({ cart: 78 });
  });

  it('does not change after it was accepted', async () => {
    await outbox.accept([line()]);
    await outbox.accept([line({ lineId: '2', metadata: { cart: 79 } })]);
    expect(shown()).toEqual({});
  });
});
