import { afterEach, describe, expect, it } from 'vitest';
import type { FaultRuleInput } from '../../sandbox/settings/fault-rules.ts';
import type { WireOverrides } from '../../src/wholesale/connector/wire.ts';
import { startSubmission, type Submission } from '../support/submission.ts';

let worker: Submission;
afterEach(() => worker.close());

const start = async (fault: FaultRuleInput['fault'], wire: WireOverrides = {}): Promise<void> => {
  const faults = [{ fault, match: { operation: 'gift_card_order' as const }, at: [1] }];
  worker = await startSubmission({ sandbox: { limits: { enabled: false }, faults }, wire });
};
const entryOf = async (reference: string) => {
  const due = await worker.store.results.dueDeliveries('folder', Date.now(), 100);
  return due
    .flatMap(({ document }) => document.lines[0]?.entries ?? [])
    .find((entry) => entry.reference === reference);
};

describe('an answer that belongs to another order', () => {
  it('is settled by a lookup of the own reference, and its product is bought on', async () => {
    await start({ fault: 'other_reference' });
    const [reference = ''] = await worker.accept([{}]);
    await worker.settled();
    await worker.accept([{}]);
    await worker.settled();
    expect(worker.counts()).toMatchObject({ fulfilled: 2, needs_review: 0 });
    const own = worker.sandbox.ledger().orders.find((order) => order.reference === reference);
    expect(await entryOf(reference)).toMatchObject({
      state: 'fulfilled',
      order_number: own?.number,
    });
    expect(worker.sandbox.ledger().orders).toHaveLength(2);
  });

  it('leaves no number that an operator cannot correct when no lookup finds the own order', async () => {
    const foreign = {
      reference: 'os-of-others',
      number: 'X-1',
      status: 'completed',
      codes: [{ code: 'AAAA' }],
    };
    await start({ fault: 'answer', status: 201, body: JSON.stringify(foreign), when: 'before' });
    const [reference = ''] = await worker.accept([{}]);
    await worker.settled();
    const entry = await entryOf(reference);
    expect(entry).toMatchObject({ state: 'needs_review', order_number: null, units: [] });
    expect(JSON.stringify(entry)).not.toContain('AAAA');
    const resolved = await worker.store.operator.actOnEntry({
      reference,
      order: {
        action: 'resolve',
        as: 'fulfilled',
        orderNumber: 'N-7',
        note: null,
        units: [{ code: 'BBBB-CCCC' }],
      },
      actor: 'test',
      reason: 'the list of the supplier',
      nowMs: Date.now(),
      steadyMs: 0,
      referenceExpiryMs: 86_400_000,
      lookupFamilies: ['gift_card'],
    });
    expect(resolved).toMatchObject({ before: 'needs_review', after: 'fulfilled' });
  });
});

describe('an answer without a reference that shows other goods', () => {
  const body = JSON.stringify({
    number: 'X-1',
    variant: 'other',
    status: 'completed',
    codes: [{ code: 'AAAA' }],
  });
  const otherGoods = { fault: 'answer', status: 201, body, when: 'after' } as const;

  it('is settled by a lookup that shows the goods as ordered', async () => {
    await start(otherGoods);
    const [reference = ''] = await worker.accept([{}]);
    await worker.settled();
    const [own] = worker.sandbox.ledger().orders;
    expect(await entryOf(reference)).toMatchObject({
      state: 'fulfilled',
      order_number: own?.number,
    });
    expect(JSON.stringify(await entryOf(reference))).not.toContain('AAAA');
  });

  it('is not believed to be another order because a lookup names no goods: an operator decides', async () => {
    await start(otherGoods, { lookup: { compare: [] } });
    const [reference = ''] = await worker.accept([{}]);
    await worker.settled();
    const entry = await entryOf(reference);
    expect(entry).toMatchObject({ state: 'needs_review', order_number: null, units: [] });
    expect(JSON.stringify(entry)).toContain('X-1');
    expect(JSON.stringify(entry)).not.toContain('AAAA');
  });
});
