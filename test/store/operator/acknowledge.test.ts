import { stepsOf } from '../../support/steps.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AcknowledgeRequest } from '../../../src/store/operator/operator.ts';
import type { StorefrontOrder } from '../../../src/store/storefronts/storefront-order.ts';
import { act, nowMs, outOfStock, referenceOf, settle, standingIn } from '../../support/operator.ts';
import { close, fulfilled, line, Outbox } from '../../support/outbox.ts';
import { redeliver } from '../../support/redeliver.ts';

const rejected = { ...outOfStock, state: 'rejected' } as const;

const ack = (box: Outbox, which: AcknowledgeRequest['which']) =>
  box.store.operator.acknowledge({ which, actor: 'cli:anna', reason: 'refunded by hand', nowMs });
const kinds = (box: Outbox) => box.store.read.attention(100).map(({ kind }) => kind);

describe('acknowledging what stands in the attention list', () => {
  it.each(['rejected', 'expired'] as const)(
    'ends the row of an entry that was %s, for good',
    async (situation) => {
      const box = await standingIn(situation);
      expect(box.store.read.attentionCounts()).toEqual({ [situation]: 1 });
      const reference = referenceOf(box);
      expect(await ack(box, { ids: [reference] })).toEqual({
        acknowledged: [reference],
        refused: [],
      });
      await box.reopen();
      expect(box.store.read.attentionCounts()).toEqual({});
      expect(box.store.read.listOrders({ attention: true, limit: 10 })).toEqual([]);
      expect(box.auditLog()).toMatchObject([
        {
          actor: 'cli:anna',
          action: 'acknowledge',
          subject: reference,
          reason: 'refunded by hand',
        },
      ]);
    },
  );

  const needDecisions = [
    ['needs_review, outcome unknown', 'needs_review', 'retry, resolve'],
    ['held, pending', 'held', 'release, cancel'],
    ['held, unknown', 'held', 'release'],
  ] as const;
  it.each(needDecisions)(
    'is refused where a decision is open: %s',
    async (situation, state, actions) => {
      const box = await standingIn(situation);
      const reference = referenceOf(box);
      const message = `${reference} is ${state} and needs a decision: this entry cannot be acknowledged`;
      expect(await ack(box, { ids: [reference] })).toEqual({
        acknowledged: [],
        refused: [
          { id: reference, code: 'NOT_ALLOWED', message, hint: `what can be done: ${actions}` },
        ],
      });
      expect((await ack(box, { source: 'shop1' })).acknowledged).toEqual([]);
      expect(box.store.read.attentionCounts()).toEqual({ [state]: 1 });
    },
  );

  it.each(['pending', 'sending', 'fulfilled', 'cancelled', 'rejected, replaced'] as const)(
    'is refused for what is not in the list: %s',
    async (situation) => {
      const box = await standingIn(situation);
      expect(kinds(box)).toEqual([]);
      const { refused } = await ack(box, { ids: [referenceOf(box), 'line:1', 'nobody'] });
      expect(refused.map(({ code }) => code)).toEqual(['NOT_ALLOWED', 'NOT_FOUND', 'NOT_FOUND']);
      expect(refused[0]?.message).toContain('is not in the attention list');
    },
  );

  it('is refused a second time, and needs a reason', async () => {
    const box = await standingIn('rejected');
    await expect(
      box.store.operator.acknowledge({ which: {}, actor: 'a', reason: ' x ', nowMs }),
    ).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    await ack(box, {});
    expect((await ack(box, { ids: [referenceOf(box)] })).refused).toHaveLength(1);
  });

  it('takes only the rows that fit a filter, and at most a thousand in one step', async () => {
    const box = await standingIn('rejected');
    const rejections = Array.from({ length: 1500 }, (_, index) => ({
      lineNumber: index,
      source: index % 2 === 0 ? 'shop1' : 'shop2',
      orderId: `refused-${index}`,
      lineId: '1',
      code: 'invalid_field',
      field: 'quantity',
      rule: 'must be at least 1',
      value: '0',
    }));
    await box.store.intake.acceptBatch({ nowMs: 9000, fileId: null, lines: [], rejections });
    const count = async (which: AcknowledgeRequest['which']) =>
      (await ack(box, which)).acknowledged.length;
    expect(await count({ code: 'out_of_stock', source: 'shop2' })).toBe(0);
    expect(await count({ beforeMs: 9000 })).toBe(1);
    expect(box.store.read.attentionCounts()).toEqual({ invalid_line: 1500 });
    expect(await count({ code: 'invalid_field', source: 'shop2' })).toBe(750);
    expect(await count({ beforeMs: 9001 })).toBe(750);
    await box.store.intake.acceptBatch({
      nowMs: 9000,
      fileId: null,
      lines: [],
      rejections: rejections.map((one) => ({ ...one, orderId: `again-${one.orderId}` })),
    });
    expect(await count({})).toBe(1000);
    expect(await count({})).toBe(500);
    expect(kinds(box)).toEqual([]);
  });
});

describe('a result that was given up', () => {
  it('leaves the list when it is acknowledged or due again, and stands there again when it is given up again', async () => {
    const box = await standingIn('fulfilled');
    const giveUp = async (at: number) => {
      const [due] = await box.store.results.dueDeliveries('folder', at, 1);
      if (due === undefined) throw new Error('a result is due');
      const { requestId, version } = due;
      await box.store.results.giveUpDelivery({
        requestId,
        sink: 'folder',
        version,
        reason: 'http_503',
        error: 'refused',
        nowMs: at,
      });
    };
    await giveUp(9_000_000);
    expect((await ack(box, { ids: ['delivery:1:folder'] })).acknowledged).toEqual([
      'delivery:1:folder',
    ]);
    expect(kinds(box)).toEqual([]);
    await redeliver(box.store, {}, 9_000_000);
    await giveUp(9_000_001);
    expect(kinds(box)).toEqual(['delivery']);
    await redeliver(box.store, {}, 9_000_001);
    expect(kinds(box)).toEqual([]);
  });
});

describe('what was not bought leaves the attention list by itself', () => {
  let box: Outbox;
  beforeEach(async () => {
    box = await Outbox.open();
  });
  afterEach(() => box.close());

  const shopLine = { lineId: '1', sku: 'CARD', isMapped: true, hold: null };
  const orderOf = (changes: Partial<StorefrontOrder>): StorefrontOrder => ({
    source: 'main',
    orderId: '9',
    modifiedMs: 1000,
    state: 'paid',
    status: 'processing',
    refundCount: 0,
    refundUnclear: false,
    onRefund: 'review',
    actor: 'woocommerce:main',
    nowMs: 1000,
    lines: [],
    unreadable: [],
    ...changes,
  });
  const buy = line({ source: 'main', orderId: '9', extra: { sku: 'CARD', shop_quantity: '1' } });
  const paid = (modifiedMs: number) =>
    box.store.storefronts.takeOrder(
      orderOf({ modifiedMs, lines: [{ ...shopLine, remaining: 1, buy }] }),
    );
  const refunded = (modifiedMs: number) =>
    box.store.storefronts.takeOrder(
      orderOf({ modifiedMs, lines: [{ ...shopLine, remaining: 0, buy: null }] }),
    );

  it('when its replacement takes its place, which then answers for it', async () => {
    await box.accept([line()]);
    await settle(box, rejected);
    expect(kinds(box)).toEqual(['rejected']);
    const first = referenceOf(box);
    const { newReference } = await act(box, { action: 'reorder', confirm: first });
    expect(kinds(box)).toEqual([]);
    await settle(box, rejected);
    expect(box.store.read.attention(9)).toMatchObject([
      { kind: 'rejected', reference: newReference },
    ]);
  });

  it('when the shop refunds it; and stands there again when the shop shows it as paid again', async () => {
    await paid(1000);
    await settle(box, rejected);
    expect(kinds(box)).toEqual(['rejected']);
    await refunded(2000);
    expect(kinds(box)).toEqual([]);
    // An older state that comes late changes nothing.
    await paid(1500);
    expect(kinds(box)).toEqual([]);
    await paid(3000);
    expect(kinds(box)).not.toEqual([]);
  });

  it('when the shop removes the line, or closes its order', async () => {
    await paid(1000);
    await settle(box, rejected);
    await box.store.storefronts.takeOrder(orderOf({ modifiedMs: 2000, lines: [] }));
    expect(kinds(box)).toEqual([]);
  });

  it('when the shop took it back before the supplier rejected it', async () => {
    await paid(1000);
    const attempt = await box.opened({ nowMs: 510_000 });
    await refunded(2000);
    await stepsOf(box.store).closeAttempt(close(attempt, rejected));
    // Only that it was refunded while it was being sent needs an operator.
    expect(kinds(box)).toEqual(['storefront']);
  });

  it('when a caller cancels the order', async () => {
    await box.accept([line()]);
    await settle(box, rejected);
    const cancelled = {
      source: 'shop1',
      orderId: '1001',
      actor: 'http',
      reason: 'customer left',
      nowMs,
    };
    await box.store.intake.cancelUnsent(cancelled);
    expect(kinds(box)).toEqual([]);
  });

  it('when an operator resolved it as rejected', async () => {
    const review = await standingIn('needs_review, refused');
    expect(kinds(review)).toEqual(['needs_review']);
    await act(review, { action: 'resolve', as: 'rejected', orderNumber: null, note: null });
    expect(kinds(review)).toEqual([]);
  });

  it('when a refused line comes again corrected', async () => {
    const refused = {
      lineNumber: 2,
      source: 'shop1',
      orderId: '1001',
      lineId: '1',
      code: 'invalid_field',
    } as const;
    const rejection = { ...refused, field: 'quantity', rule: 'must be at least 1', value: '0' };
    for (const id of ['F1', 'F2'])
      await box.store.intake.files.begin({
        id,
        name: id,
        folder: 'folder',
        sizeBytes: 1,
        nowMs: 1,
      });
    await box.store.intake.acceptBatch({
      nowMs: 1,
      fileId: 'F1',
      lines: [],
      rejections: [rejection],
    });
    expect(kinds(box)).toEqual(['invalid_line']);
    await box.accept([line()], 'F2');
    expect(kinds(box)).toEqual([]);
    await settle(box, rejected);
    expect(kinds(box)).toEqual(['rejected']);
  });

  it('when a later file brings the same mistake of the same line: that is one thing to do', async () => {
    const refused = {
      lineNumber: 2,
      source: 'shop1',
      orderId: '1001',
      code: 'invalid_field',
    } as const;
    const ofLine = (lineId: string | null, rule = 'must be at least 1') => ({
      ...refused,
      lineId,
      field: 'quantity',
      rule,
      value: '0',
    });
    const take = async (fileId: string, rejections: readonly ReturnType<typeof ofLine>[]) => {
      await box.store.intake.files.begin({
        id: fileId,
        name: 'orders.csv',
        folder: 'folder',
        sizeBytes: 1,
        nowMs: 1,
      });
      await box.store.intake.acceptBatch({ nowMs: 1, fileId, lines: [], rejections });
    };
    await take('F1', [ofLine('1'), ofLine('2'), ofLine(null)]);
    await take('F2', [ofLine('1'), ofLine('2', 'must be at most 100'), ofLine(null)]);
    const ids = () => box.store.read.attention(9).map(({ id }) => id);
    expect(ids().toSorted()).toEqual(['line:2', 'line:3', 'line:4', 'line:5', 'line:6']);
    await ack(box, { ids: ['line:4'] });
    expect(ids()).not.toContain('line:1');
  });

  it('when the shop takes back what was flagged and not bought; and stands there again when it is flagged again', async () => {
    const hold = { code: 'unknown_sku', field: null, rule: 'is not in the SKU map', value: null };
    const flagged = { ...shopLine, isMapped: false, remaining: 1, buy: null, hold };
    await box.store.storefronts.takeOrder(orderOf({ lines: [flagged] }));
    expect(kinds(box)).toEqual(['storefront']);
    await refunded(2000);
    expect(kinds(box)).toEqual([]);
    await box.store.storefronts.takeOrder(orderOf({ modifiedMs: 3000, lines: [flagged] }));
    expect(kinds(box)).toEqual(['storefront']);
    await ack(box, { code: 'unknown_sku' });
    await box.store.storefronts.takeOrder(orderOf({ modifiedMs: 4000, lines: [flagged] }));
    expect(kinds(box)).toEqual([]);
    await refunded(5000);
    await box.store.storefronts.takeOrder(orderOf({ modifiedMs: 6000, lines: [flagged] }));
    expect(kinds(box)).toEqual(['storefront']);
  });

  it('but not when the shop refunds what was bought: that needs an operator', async () => {
    await paid(1000);
    await stepsOf(box.store).closeAttempt(close(await box.opened({ nowMs: 510_000 }), fulfilled));
    await refunded(2000);
    await refunded(3000);
    expect(box.store.read.attention(9)).toMatchObject([
      { kind: 'storefront', code: 'refunded_in_storefront' },
    ]);
  });
});
