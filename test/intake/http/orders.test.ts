import { stepsOf } from '../../support/steps.ts';
import { describe, expect, it } from 'vitest';
import {
  acknowledgementSchema,
  problemSchema,
  resultSchema,
} from '../../support/intake-openapi.ts';
import { close, fulfilled } from '../../support/outbox.ts';
import { order, startIntake } from './running-intake.ts';
import { boundToken, token } from './running-intake-config.ts';
import { redeliver } from '../../support/redeliver.ts';

const bearer = { authorization: `Bearer ${token}` };

describe('posting an order', () => {
  it('is answered 202 with its references after they are on disk, and the worker is notified', async () => {
    const { post, outbox, notifications } = await startIntake();
    const answer = await post(order());
    expect(answer.status).toBe(202);
    expect(acknowledgementSchema.parse(answer.json)).toMatchObject({
      source: 'shop1',
      order_id: '1001',
      status: 'accepted',
      state: 'in_progress',
      url: '/v1/orders/shop1/1001',
    });
    expect(answer.headers.get('location')).toBe('/v1/orders/shop1/1001');
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const stored = outbox.store.read.showOrder('shop1', '1001')?.entries;
    expect(answer.json.lines).toEqual(
      stored?.map(({ lineId, reference }) => ({ line_id: lineId, reference })),
    );
    expect(notifications()).toBe(1);
  });

  it('again is answered 200 with the same references, and buys nothing', async () => {
    const { post, outbox, notifications } = await startIntake();
    const first = await post(order());
    // Deadline, metadata and the order of keys do not change what is bought.
    const again = await post({
      ...order(),
      metadata: { note: 'again' },
      not_after: '2099-01-01T00:00:00Z',
    });
    expect(again.status).toBe(200);
    expect(again.json).toEqual({ ...first.json, status: 'known' });
    expect(outbox.store.read.counts().pending).toBe(2);
    expect(notifications()).toBe(1);
  });

  it('with no more than its product is the same order as with everything that follows from it', async () => {
    const { post, outbox } = await startIntake();
    const said = { line_id: '1', type: 'gift_card_order', quantity: 1 };
    const least = { order_id: '7', currency: 'USD', lines: [{ variant: 'steam-usd-20' }] };
    const first = await post(least);
    expect([first.status, first.json.lines[0].line_id]).toEqual([202, '1']);
    const again = await post({ ...least, lines: [{ ...said, variant: 'steam-usd-20' }] });
    expect([again.status, again.json.lines]).toEqual([200, first.json.lines]);
    expect(outbox.store.read.counts().pending).toBe(1);
  });

  it('does not say that nothing was accepted when its result cannot be told, and is the same when it is sent again', async () => {
    const { post, outbox } = await startIntake();
    const first = await post(order());
    const resultDocument = outbox.store.read.resultDocument.bind(outbox.store.read);
    outbox.store.read.resultDocument = () => {
      throw new Error('broken');
    };
    const failed = await post(order());
    expect(problemSchema.parse(failed.json)).toMatchObject({ status: 500, code: 'internal' });
    expect(JSON.stringify(failed.json)).not.toContain('accepted');
    expect(JSON.stringify(failed.json)).toContain('Send the request again');
    outbox.store.read.resultDocument = resultDocument;
    const again = await post(order());
    expect([again.status, again.json.lines]).toEqual([200, first.json.lines]);
  });

  it('again with other content is answered 409 with the differences, and changes nothing', async () => {
    const { post, outbox } = await startIntake();
    const first = await post(order());
    const [gift, esim] = order().lines;
    const answer = await post(order({ lines: [{ ...Object(gift), quantity: 3 }, esim] }));
    expect(answer.status).toBe(409);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    expect(problemSchema.parse(answer.json)).toMatchObject({
      code: 'conflict',
      conflicts: [
        {
          source: 'shop1',
          order_id: '1001',
          lines: [
            {
              line_id: '1',
              reference: first.json.lines[0].reference,
              differences: [{ field: 'quantity', was: 2, is: 3 }],
            },
          ],
        },
      ],
    });
    expect(outbox.store.read.counts().pending).toBe(2);
  });

  it('again with more, fewer or renumbered lines is a conflict, because the lines would be bought twice', async () => {
    const { post, outbox } = await startIntake();
    await post(order());
    const [gift, esim] = order().lines;
    const renumbered = await post(
      order({
        lines: [
          { ...Object(gift), line_id: 'a' },
          { ...Object(esim), line_id: 'b' },
        ],
      }),
    );
    expect(renumbered.status).toBe(409);
    expect(
      renumbered.json.conflicts[0].lines.map((line: { line_id: string }) => line.line_id),
    ).toEqual(['1', '2', 'a', 'b']);
    expect((await post(order({ lines: [gift] }))).status).toBe(409);
    expect(outbox.store.read.counts().pending).toBe(2);
  });

  it('in a batch is answered in the order of the batch, which may be an array or an object with "orders"', async () => {
    const { post, outbox } = await startIntake();
    const orders = ['1', '2', '3'].map((id) => order({ order_id: id }));
    const answer = await post(orders.slice(0, 2));
    expect(answer.status).toBe(202);
    expect(answer.json.orders.map((one: { order_id: string }) => one.order_id)).toEqual(['1', '2']);
    // One of them is new, so the status is 202.
    const more = await post({ orders });
    expect(more.status).toBe(202);
    expect(more.json.orders.map((one: { status: string }) => one.status)).toEqual([
      'known',
      'known',
      'accepted',
    ]);
    expect((await post({ orders })).status).toBe(200);
    expect(outbox.store.read.counts().pending).toBe(6);
  });

  it('in a batch with a conflict is not accepted', async () => {
    const { post, outbox } = await startIntake();
    await post(order());
    const answer = await post([order({ order_id: 'new' }), order({ currency: 'EUR' })]);
    expect(answer.status).toBe(409);
    expect(outbox.store.read.findOrder('shop1', 'new')).toBeNull();
  });

  it('without a source gets the source of its token, or the configured one', async () => {
    const { post } = await startIntake();
    const { source: _, ...nobodys } = order();
    expect((await post(nobodys)).json.source).toBe('webhook');
    expect((await post(nobodys, { authorization: `Bearer ${boundToken}` })).json.source).toBe(
      'shop2',
    );
  });

  it.each([
    ['an id with a slash', 'a/b'],
    ['an id with a percent sign', '100%2F'],
    ['an id with spaces and letters of the world', 'Bestellung 7 ü 注文'],
    ['an id with a question mark and a hash', 'a?b#c'],
  ])('with %s is answered with a URL at which it can be read', async (_, id) => {
    const { post, call } = await startIntake();
    const { json } = await post(order({ order_id: id }));
    const read = await call('GET', json.url, bearer);
    expect([read.status, read.json.order_id]).toEqual([200, id]);
  });
});

describe('reading an order', () => {
  it('returns the result document that is also written to the folder', async () => {
    const { post, call, outbox } = await startIntake();
    await post(order());
    const attempt = await outbox.opened({ nowMs: Date.now() });
    await stepsOf(outbox.store).closeAttempt(close(attempt, fulfilled));
    const { status, json } = await call('GET', '/v1/orders/shop1/1001', bearer);
    expect(status).toBe(200);
    expect(resultSchema.parse(json)).toMatchObject({ state: 'in_progress', sandbox: true });
    expect(json.lines[0].entries[0].units).toEqual([{ code: 'SECRET-CODE' }]);
  });

  it('is answered 404 for an unknown order, 403 for another source, and 401 without a token', async () => {
    const { post, call } = await startIntake();
    await post(order());
    expect((await call('GET', '/v1/orders/shop1/nope', bearer)).status).toBe(404);
    const other = { authorization: `Bearer ${boundToken}` };
    expect((await call('GET', '/v1/orders/shop1/1001', other)).json.code).toBe(
      'source_not_allowed',
    );
    const nobody = await call('GET', '/v1/orders/shop1/1001');
    expect([nobody.status, nobody.headers.get('www-authenticate')]).toEqual([
      401,
      'Bearer realm="order-sync"',
    ]);
  });
});

describe('cancelling an order', () => {
  it('cancels all of its lines while none was sent, writes an audit row, and may be repeated', async () => {
    const { post, call, outbox } = await startIntake();
    await post(order());
    const answer = await call('DELETE', '/v1/orders/shop1/1001', bearer);
    expect(answer.status).toBe(200);
    expect(resultSchema.parse(answer.json).lines.map((line) => line.state)).toEqual([
      'cancelled',
      'cancelled',
    ]);
    expect((await call('DELETE', '/v1/orders/shop1/1001', bearer)).status).toBe(200);
    expect(outbox.auditLog()).toEqual([
      expect.objectContaining({
        actor: 'webhook:anybody',
        action: 'cancel',
        subject: 'shop1/1001',
      }),
    ]);
    expect(await stepsOf(outbox.store).openAttempt(outbox.claim({ nowMs: Date.now() }))).toBeNull();
    // The order stays known: it is not bought when it is posted again.
    const again = await post(order());
    expect([again.status, again.json.status, again.json.state]).toEqual([200, 'known', 'failed']);
  });

  it('is refused with the states of its lines when one was already sent, and cancels nothing', async () => {
    const { post, call, outbox } = await startIntake();
    await post(order());
    await stepsOf(outbox.store).openAttempt(outbox.claim({ nowMs: Date.now() }));
    const answer = await call('DELETE', '/v1/orders/shop1/1001', bearer);
    expect(answer.status).toBe(409);
    expect(problemSchema.parse(answer.json).lines?.map((line) => line.state)).toEqual([
      'sending',
      'pending',
    ]);
    expect(outbox.store.read.counts().cancelled).toBe(0);
    expect(outbox.auditLog()).toEqual([]);
  });

  it('is only allowed to callers of its source', async () => {
    const { post, call } = await startIntake();
    await post(order());
    expect((await call('DELETE', '/v1/orders/shop1/1001')).status).toBe(401);
    expect(
      (await call('DELETE', '/v1/orders/shop1/1001', { authorization: `Bearer ${boundToken}` }))
        .status,
    ).toBe(403);
    expect((await call('DELETE', '/v1/orders/shop1/none', bearer)).status).toBe(404);
  });
});

describe('reading delivered codes', () => {
  it('is in the audit log once for each caller and version of the result, however often it is asked', async () => {
    const { post, call, outbox } = await startIntake();
    await post(order({ lines: [order().lines[0]] }));
    const read = () => call('GET', '/v1/orders/shop1/1001', bearer);
    await read();
    const reads = () => outbox.auditLog().filter(({ action }) => action === 'read_codes');
    // There was no code yet.
    expect(reads()).toEqual([]);
    await stepsOf(outbox.store).closeAttempt(
      close(await outbox.opened({ nowMs: Date.now() }), fulfilled),
    );
    for (let times = 0; times < 3; times += 1)
      expect(JSON.stringify((await read()).json)).toContain('SECRET-CODE');
    expect(reads()).toMatchObject([
      { subject: 'shop1/1001', actor: expect.stringMatching(/^webhook:/) },
    ]);
    await redeliver(outbox.store, {}, 5000);
    await read();
    expect(reads()).toHaveLength(2);
    expect(JSON.stringify(reads())).not.toContain('SECRET-CODE');
  });
});
