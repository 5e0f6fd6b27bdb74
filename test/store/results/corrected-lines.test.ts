import { stepsOf } from '../../support/steps.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { close, fulfilled, line, Outbox } from '../../support/outbox.ts';

let outbox: Outbox;
beforeEach(async () => {
  outbox = await Outbox.open();
  for (const id of ['F1', 'F2', 'F3']) {
    await outbox.store.intake.files.begin({
      id,
      name: `${id}.csv`,
      folder: 'folder',
      sizeBytes: 10,
      nowMs: 1,
    });
  }
});
afterEach(() => outbox.close());

type Batch = Parameters<Outbox['store']['intake']['acceptBatch']>[0];
type Refused = Batch['rejections'][number];

/** A row that was not accepted; without changes, one of which only the id is missing. */
const refused = (changes: Partial<Refused> = {}): Refused => ({
  lineNumber: 3,
  source: 'shop1',
  orderId: '1001',
  lineId: null,
  product: 'steam-20',
  code: 'missing_field',
  field: 'line_id',
  rule: 'is required',
  value: null,
  ...changes,
});

const take = (fileId: string | null, lines: Batch['lines'], rejections: Batch['rejections'] = []) =>
  outbox.store.intake.acceptBatch({ nowMs: 1000, fileId, lines, rejections });

const second = (changes: Parameters<typeof line>[0] = {}) =>
  line({ lineId: '2', variant: 'steam-20', ...changes });

async function buyAll(): Promise<void> {
  for (;;) {
    const attempt = await stepsOf(outbox.store).openAttempt(outbox.claim());
    if (attempt === null) return;
    await stepsOf(outbox.store).closeAttempt(close(attempt, fulfilled));
  }
}

const result = () => outbox.store.read.resultDocument(1).document;
const shown = () => [
  result().state,
  ...result().lines.map(({ line_id: id, state }) => `${id ?? '-'} ${state}`),
];

describe('a rejected line without an id', () => {
  it('is corrected by a new line of its product in a later file', async () => {
    await take('F1', [line()], [refused()]);
    expect(shown()).toEqual(['in_progress', '1 pending', '- rejected']);
    await take('F2', [second()]);
    await buyAll();
    expect(shown()).toEqual(['completed', '1 fulfilled', '2 fulfilled']);
  });

  it('is corrected when the whole order is sent again', async () => {
    await take('F1', [line()], [refused()]);
    await take('F2', [line(), second()]);
    await buyAll();
    expect(shown()).toEqual(['completed', '1 fulfilled', '2 fulfilled']);
  });

  it('stays when the new line is another product', async () => {
    await take('F1', [line()], [refused()]);
    await take('F2', [second({ variant: 'xbox-5' })]);
    await buyAll();
    expect(shown()).toEqual(['partial', '1 fulfilled', '2 fulfilled', '- rejected']);
  });

  it('stays when its order comes again without it', async () => {
    await take('F1', [line()], [refused()]);
    await take('F2', [line()]);
    await buyAll();
    expect(shown()).toEqual(['partial', '1 fulfilled', '- rejected']);
  });

  it('stays when the same file also has a line of its product', async () => {
    await take('F1', [line()], [refused()]);
    await take('F1', [second()]);
    await buyAll();
    expect(shown()).toEqual(['partial', '1 fulfilled', '2 fulfilled', '- rejected']);
  });

  it('needs a line of its own: one new line corrects one of two', async () => {
    await take('F1', [line()], [refused(), refused({ lineNumber: 4 })]);
    await take('F2', [second()]);
    await buyAll();
    expect(shown()).toEqual(['partial', '1 fulfilled', '2 fulfilled', '- rejected']);
    await take('F3', [second({ lineId: '3' })]);
    await buyAll();
    expect(shown()).toEqual(['completed', '1 fulfilled', '2 fulfilled', '3 fulfilled']);
  });

  it('is one line, however often it was sent without being corrected', async () => {
    await take('F1', [line()], [refused()]);
    await take('F2', [line()], [refused()]);
    expect(shown()).toEqual(['in_progress', '1 pending', '- rejected']);
    await take('F3', [line(), second()]);
    await buyAll();
    expect(shown()).toEqual(['completed', '1 fulfilled', '2 fulfilled']);
  });

  it('that names no product is corrected by any new line of a later file, one for one', async () => {
    const unreadable = refused({
      product: null,
      code: 'invalid_field',
      field: '/lines/1',
      rule: 'must be an object',
    });
    await take('F1', [line()], [unreadable, refused()]);
    await take('F2', [second()]);
    expect(shown()).toEqual(['in_progress', '1 pending', '2 pending', '- rejected']);
    await take('F3', [second({ lineId: '3', variant: 'xbox-5' })]);
    expect(shown()).toEqual(['in_progress', '1 pending', '2 pending', '3 pending']);
  });

  it('is corrected by an order over HTTP', async () => {
    await take('F1', [], [refused()]);
    expect(shown()).toEqual(['failed', '- rejected']);
    await outbox.store.intake.acceptRequests([{ nowMs: 2000, lines: [second()] }]);
    expect(shown()).toEqual(['in_progress', '2 pending']);
  });
});

describe('a rejected line with an id', () => {
  const second2 = refused({
    lineId: '2',
    code: 'invalid_field',
    field: 'quantity',
    rule: 'must be a number',
    value: 'x',
  });

  it('is corrected by the line of its id, which corrects no other line', async () => {
    await take('F1', [line()], [second2, refused({ lineNumber: 4 })]);
    await take('F2', [second()]);
    expect(shown()).toEqual(['in_progress', '1 pending', '2 pending', '- rejected']);
  });

  it('is one line, however often it was rejected', async () => {
    await take('F1', [line()], [second2]);
    await take('F2', [line()], [{ ...second2, value: 'y' }]);
    expect(shown()).toEqual(['in_progress', '1 pending', '2 rejected']);
    expect(result().lines[1]?.error?.message).toContain('got y');
  });

  it('is not shown where its id was accepted before: that line keeps what was accepted', async () => {
    await take('F1', [line()]);
    await take(
      'F2',
      [],
      [refused({ lineId: '1', code: 'invalid_field', field: 'quantity', value: 'x' })],
    );
    expect(shown()).toEqual(['in_progress', '1 pending']);
  });

  it('is shown where it repeated the id of another line, until it comes under its own', async () => {
    const repeated = refused({
      lineId: '1',
      product: 'steam-10',
      code: 'duplicate_line',
      rule: 'repeats the line_id',
    });
    await take('F1', [line()], [repeated]);
    await buyAll();
    expect(shown()).toEqual(['partial', '1 fulfilled', '1 rejected']);
    await take('F2', [line({ lineId: '2' })]);
    await buyAll();
    expect(shown()).toEqual(['completed', '1 fulfilled', '2 fulfilled']);
  });
});

describe('a flag on an order as a whole', () => {
  const flag = (nowMs: number) =>
    outbox.store.storefronts.flagStrandedOrders({ sources: ['another'], nowMs });
  const unread = { source: 'shop1', orderId: '1001', actor: 'test', modifiedMs: 5000, nowMs: 5000 };

  it('is no line of an order that was bought', async () => {
    await take(null, [line()]);
    await buyAll();
    expect(shown()).toEqual(['completed', '1 fulfilled']);
    await outbox.store.storefronts.takeOrder({
      ...unread,
      state: 'paid',
      status: 'processing',
      refundCount: 1,
      onRefund: 'review',
      refundUnclear: true,
      lines: null,
      unreadable: [],
    });
    await flag(6000);
    expect(outbox.store.read.attention(10)).toMatchObject([
      { code: 'partially_refunded', orderId: '1001' },
    ]);
    expect(shown()).toEqual(['completed', '1 fulfilled']);
  });
});
