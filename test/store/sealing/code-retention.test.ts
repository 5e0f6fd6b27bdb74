import { stepsOf } from '../../support/steps.ts';
import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sealKey } from '../../support/seal-keys.ts';
import { answer, close, fulfilled, line, Outbox } from '../../support/outbox.ts';
import { redeliver } from '../../support/redeliver.ts';

const code = 'PLAIN-CODE-1234';
const dayMs = 86_400_000;
let outbox: Outbox;
beforeEach(async () => {
  outbox = await Outbox.open();
});
afterEach(() => outbox.close());

const bought = { ...fulfilled, answer: { ...answer, units: [{ code }] } };

async function buy(orderId: string, lines = 1): Promise<void> {
  await outbox.accept(
    Array.from({ length: lines }, (_, index) => line({ orderId, lineId: String(index + 1) })),
  );
  const attempt = await outbox.opened();
  const own = attempt.entry.id === 1 ? code : `${code}-${1000 + attempt.entry.id}`;
  const settlement = { ...bought, answer: { ...answer, units: [{ code: own }] } };
  await stepsOf(outbox.store).closeAttempt(close(attempt, settlement));
}

async function deliver(atMs: number): Promise<void> {
  const { results } = outbox.store;
  for (const { requestId, version } of await results.dueDeliveries('folder', 9000, 10))
    await results.closeDelivery({ requestId, sink: 'folder', version, nowMs: atMs });
}

const shred = (beforeMs: number) =>
  outbox.store.codeRetention.shredNext({
    beforeMs,
    nowMs: 100 * dayMs,
    reason: 'kept for 90 days',
    after: null,
    limit: 10,
  });
const entryOf = (requestId: number) =>
  outbox.store.read.resultDocument(requestId).document.lines[0]?.entries[0];

describe('shredding', () => {
  it.each([
    ['sealed', [sealKey('k1')]],
    ['in clear', []],
  ])('leaves no code that was %s in any file, and keeps the rest', async (_how, keys) => {
    await outbox.reopen(keys);
    await buy('1001');
    const { units, ...rest } = { ...entryOf(1) };
    expect(units).toEqual([{ code }]);
    await deliver(5000);
    expect(await shred(6000)).toEqual({ shredded: 1, next: null });
    expect(await outbox.store.sealing.emptyLog()).toBe(true);
    expect(entryOf(1)).toEqual({
      ...rest,
      units: [],
      shredded: { units: 1, at: '1970-04-11T00:00:00.000Z' },
    });
    const [entry] = outbox.store.read.showOrder(null, '1001')?.entries ?? [];
    expect(entry).toMatchObject({
      unitCount: 1,
      shreddedAt: '1970-04-11T00:00:00.000Z',
      cost: '10.00',
    });
    expect(outbox.store.read.listOrders({ search: '1234', limit: 10 })).toEqual([]);
    for (const file of ['', '-wal'])
      expect(readFileSync(`${outbox.path}${file}`).includes(code)).toBe(false);
    expect(outbox.auditLog()).toMatchObject([
      { actor: 'worker', action: 'shred_codes', subject: 'shop1/1001', reason: 'kept for 90 days' },
    ]);
    expect(JSON.stringify(outbox.auditLog())).not.toContain(code);
  });

  it('waits until the result was delivered, for as long as it is kept', async () => {
    await buy('1001');
    expect(await shred(6000)).toMatchObject({ shredded: 0 });
    await deliver(5000);
    expect(await shred(5000)).toMatchObject({ shredded: 0 });
    await redeliver(outbox.store, {}, 5500);
    expect(await shred(6000)).toMatchObject({ shredded: 0 });
    await deliver(5600);
    expect(await shred(6000)).toMatchObject({ shredded: 1 });
  });

  it('waits for the other lines of the order', async () => {
    await buy('1001', 2);
    await deliver(5000);
    expect(await shred(6000)).toMatchObject({ shredded: 0 });
    await stepsOf(outbox.store).closeAttempt(
      close(await outbox.opened(), {
        ...bought,
        answer: { ...answer, units: [{ code: `OTHER-${code}-2` }] },
      }),
    );
    await deliver(5000);
    expect(await shred(6000)).toMatchObject({ shredded: 2 });
  });

  it('continues behind an order that still needs its codes', async () => {
    await buy('1001');
    await buy('1002');
    const [, second] = await outbox.store.results.dueDeliveries('folder', 9000, 10);
    await outbox.store.results.closeDelivery({
      requestId: 2,
      sink: 'folder',
      version: second?.version ?? 0,
      nowMs: 5000,
    });
    const request = { beforeMs: 6000, nowMs: 7000, reason: 'kept for 90 days', limit: 1 };
    const first = await outbox.store.codeRetention.shredNext({ ...request, after: null });
    expect(first).toMatchObject({ shredded: 0, next: { id: 1 } });
    expect(
      await outbox.store.codeRetention.shredNext({ ...request, after: first.next }),
    ).toMatchObject({
      shredded: 1,
    });
  });

  it('is never followed by a result without codes: it is refused, and flagged where the order changes', async () => {
    await buy('1001');
    await deliver(5000);
    await shred(6000);
    await expect(
      redeliver(outbox.store, { source: 'shop1', orderId: '1001' }, 7000),
    ).rejects.toThrow(
      expect.objectContaining({
        code: 'NOT_ALLOWED',
        message: expect.stringContaining('were shredded'),
      }),
    );
    expect(await redeliver(outbox.store, {}, 7000)).toBe(0);
    await outbox.accept([line({ orderId: '1001', lineId: '2' })], null, 7000);
    await stepsOf(outbox.store).closeAttempt(
      close(await outbox.opened({ nowMs: 7000 }), {
        ...bought,
        answer: { ...answer, units: [{ code: 'ANOTHER-CODE' }] },
      }),
    );
    expect(await outbox.store.results.dueDeliveries('folder', 90_000, 10)).toEqual([]);
    expect(outbox.store.read.attention(10)).toMatchObject([
      { kind: 'delivery', orderId: '1001', message: expect.stringContaining('were shredded') },
    ]);
  });
});
