import { Webhook } from 'standardwebhooks';
import { expect, describe, it, onTestFinished } from 'vitest';
import { stepsOf } from '../support/steps.ts';
import { answer, close, fulfilled, line, Outbox } from '../support/outbox.ts';
import { rememberEsim } from '../../src/store/entries/esim-origins.ts';
import type { WebhookSettings } from '../../src/intake/http/settings.ts';
import { FolderBench } from './folder/folder-bench.ts';
import { boundToken, token, whsec } from './http/running-intake-config.ts';
import { startIntake } from './http/running-intake.ts';

const iccid = '8944000000000000001';
const unknownIccid = '8944000000000000019';
const esim = { operation: 'esim_order', variant: null, plan: 'es-1', source: 'shop1' } as const;
const cancelOf = (source: string, changes: Record<string, unknown> = {}) => ({
  source,
  order_id: 'c1',
  lines: [{ line_id: '1', type: 'esim_cancel', iccid, ...changes }],
});
const rule = (source: string): string =>
  `iccid: must be that of an eSIM that the source "${source}" bought here: only the source that bought an eSIM may cancel it. Check the ICCID; an operator can cancel the eSIM with \`order-sync submit\`, under the source that bought it`;

/** `shop1` bought an eSIM in its order `1001`. */
async function buyEsim(outbox: Outbox): Promise<void> {
  await outbox.accept([line(esim)]);
  const attempt = await outbox.opened({ nowMs: 2000 });
  const shown = { ...answer, units: [{ iccid, lpa: 'LPA:1$a.b$c' }] };
  await stepsOf(outbox.store).closeAttempt(close(attempt, { ...fulfilled, answer: shown }));
}

describe('a cancel over HTTP', () => {
  const as = (secret: string) => ({ authorization: `Bearer ${secret}` });
  const scopes: ('post' | 'cancel_esim')[] = ['post', 'cancel_esim'];
  const tokens = [
    { name: 'one', secrets: [token], scopes, sources: ['shop1'], currency: null },
    { name: 'two', secrets: [boundToken], scopes, sources: ['shop2', 'shop3'], currency: null },
  ];
  async function intakeWithEsim(config: Partial<WebhookSettings> = { tokens }) {
    const intake = await startIntake({ config });
    await buyEsim(intake.outbox);
    return intake;
  }

  it('of an eSIM is accepted from the source that bought it, and answered 200 again', async () => {
    const { post } = await intakeWithEsim();
    expect((await post(cancelOf('shop1'))).status).toBe(202);
    expect((await post(cancelOf('shop1'))).status).toBe(200);
  });

  it.each([
    ['that another source bought', iccid],
    ['that is unknown here', unknownIccid],
  ])('of an eSIM %s is refused by the same words, with all of its request', async (_, of) => {
    const { post, outbox } = await intakeWithEsim();
    const { status, json } = await post(
      [
        { ...cancelOf('shop2', { iccid: of }), order_id: 'c1' },
        {
          source: 'shop2',
          order_id: 'c2',
          currency: 'USD',
          lines: [{ line_id: '1', type: 'gift_card_order', variant: 'v', quantity: 1 }],
        },
      ],
      as(boundToken),
    );
    const detail = `shop2/c1, line "1": ${rule('shop2')}; got ${of}. Nothing of this request was accepted.`;
    expect([status, json.code, json.detail]).toEqual([403, 'esim_of_other_source', detail]);
    expect(JSON.stringify(json)).not.toMatch(/shop1|1001|LPA/);
    expect(outbox.store.read.findOrder('shop2', 'c1')).toBeNull();
    expect(outbox.store.read.findOrder('shop2', 'c2')).toBeNull();
  });

  it('needs the scope cancel_esim', async () => {
    const { post, outbox } = await intakeWithEsim({
      tokens: [
        {
          name: 'one',
          secrets: [token],
          scopes: ['post', 'cancel'],
          sources: ['shop1'],
          currency: null,
        },
      ],
    });
    const { status, json } = await post(cancelOf('shop1'));
    expect([status, json.code, json.detail]).toEqual([
      403,
      'scope_not_allowed',
      'shop1/c1, line "1": an esim_cancel needs a token with the scope `cancel_esim`; this caller has post, cancel.',
    ]);
    expect(outbox.store.read.findOrder('shop1', 'c1')).toBeNull();
  });

  it('is never accepted by a signature alone', async () => {
    const { call } = await intakeWithEsim();
    const body = JSON.stringify(cancelOf('shop1'));
    const at = new Date();
    const headers = {
      'content-type': 'application/json',
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': new Webhook(whsec).sign('msg_1', at, body),
    };
    const { status, json } = await call('POST', '/v1/orders', headers, body);
    expect([status, json.code]).toEqual([403, 'scope_not_allowed']);
  });

  it('leaves a top-up by another source as it is: it is bought', async () => {
    const { post } = await intakeWithEsim();
    const topup = { line_id: '1', type: 'esim_topup', iccid, plan: 'top-1' };
    const order = { source: 'shop2', order_id: 't1', currency: 'USD', lines: [topup] };
    expect((await post(order, as(boundToken))).status).toBe(202);
  });
});

describe('a cancel in an order file', () => {
  const csv = (source: string, of = iccid) =>
    `order_id,line_id,type,variant,quantity,currency,iccid,source\nc1,1,esim_cancel,,,,${of},${source}\nc1,2,gift_card_order,v,1,USD,,${source}\n`;

  async function benchWithEsim(): Promise<FolderBench> {
    const bench = new FolderBench({ sources: ['folder', 'shop1', 'shop2'] });
    onTestFinished(() => bench.close());
    await bench.intake.scanOnce();
    const lines = [line(esim)];
    await bench.store.intake.acceptBatch({ nowMs: 1, fileId: null, lines, rejections: [] });
    rememberEsim(bench.store.outbox.database).run(iccid, 1);
    return bench;
  }

  it('of an eSIM that another source bought is refused, and the other lines are bought', async () => {
    const bench = await benchWithEsim();
    bench.drop('orders.csv', csv('shop2'));
    expect((await bench.intake.scanOnce()).lines).toMatchObject({ accepted: 1, rejected: 1 });
    const report = bench.report();
    expect(report.lines).toMatchObject([
      { line: 2, code: 'esim_of_other_source', field: 'iccid', value: iccid },
    ]);
    expect(`iccid: ${report.lines?.[0]?.rule}`).toBe(rule('shop2'));
    expect(JSON.stringify(report)).not.toMatch(/shop1|1001/);
    const order = bench.store.read.findOrder('shop2', 'c1');
    const { document } = bench.store.read.resultDocument(order?.requestId ?? 0);
    expect(document.lines.map(({ line_id: id, state }) => [id, state])).toEqual([
      ['2', 'pending'],
      ['1', 'rejected'],
    ]);
  });

  it.each([
    ['of the source that bought the eSIM', 'shop1', iccid],
    ['of an eSIM that is unknown here', 'shop2', unknownIccid],
  ])('%s is accepted', async (_, source, of) => {
    const bench = await benchWithEsim();
    bench.drop('orders.csv', csv(source, of));
    expect((await bench.intake.scanOnce()).lines).toMatchObject({ accepted: 2, rejected: 0 });
  });
});

describe('a cancel that an operator submits', () => {
  it('is refused under a source that did not buy the eSIM, and accepted under the other', async () => {
    const outbox = await Outbox.open();
    onTestFinished(() => outbox.close());
    await buyEsim(outbox);
    const cancel = { operation: 'esim_cancel', variant: null, quantity: null, iccid } as const;
    const [refused] = await outbox.accept([line({ ...cancel, source: 'shop2', orderId: 'c1' })]);
    const difference = { field: 'iccid', was: rule('shop2').slice('iccid: '.length), is: iccid };
    expect(refused).toMatchObject({ status: 'refused', reference: null });
    expect(refused?.differences).toEqual([difference]);
    const [accepted] = await outbox.accept([line({ ...cancel, source: 'shop1', orderId: 'c1' })]);
    expect(accepted?.status).toBe('accepted');
  });
});

describe('a cancel of an eSIM that another source gets after it came in', () => {
  it('is never sent: it needs review', async () => {
    const outbox = await Outbox.open();
    onTestFinished(() => outbox.close());
    await outbox.accept([line(esim)]);
    const attempt = await outbox.opened({ nowMs: 2000 });
    const cancel = { operation: 'esim_cancel', variant: null, quantity: null, iccid } as const;
    await outbox.accept([line({ ...cancel, source: 'shop2', orderId: 'c1' })]);
    const shown = { ...answer, units: [{ iccid, lpa: 'LPA:1$a.b$c' }] };
    await stepsOf(outbox.store).closeAttempt(close(attempt, { ...fulfilled, answer: shown }));
    await expect(outbox.opened({ nowMs: 3000 })).rejects.toThrow('nothing was due');
    const [entry] = outbox.rows("SELECT state, review_reason FROM outbox WHERE source = 'shop2'");
    expect(entry).toEqual({ state: 'needs_review', review_reason: rule('shop2').replace(':', '') });
  });
});
