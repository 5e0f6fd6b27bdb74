import { once } from 'node:events';
import { createServer as createTlsServer } from 'node:https';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SystemClock } from '../../../src/ops/system-clock.ts';
import { Outbox } from '../../support/outbox.ts';
import { certificates } from '../../wholesale/transport/certificates.ts';
import { hour } from '../shop-settings.ts';
import { MovedClock } from './moved-clock.ts';
import { minutesAgo, readBackOf, wooBody } from './running-read-back.ts';
import { type Misbehaviour, send, StubWooCommerce, woo } from './stub-shop.ts';

async function shopWith(orders: number): Promise<StubWooCommerce> {
  const stub = await new StubWooCommerce().open();
  for (let id = 1; id <= orders; id += 1) {
    stub.put({ id: String(id), modifiedMs: minutesAgo(60) + id * 1000, body: wooBody(`${id}1`) });
  }
  return stub;
}

/** The nth call fails, every other call is answered. */
const nth =
  (number: number, fault: Misbehaviour): Misbehaviour =>
  (call, response) =>
    call.number === number ? fault(call, response) : false;

describe('read-back of a shop that fails', () => {
  it.each<[string, string, RegExp, Misbehaviour]>([
    [
      'refuses the keys',
      'unauthorized',
      /401 woocommerce_rest/,
      (_, r) => send(r, 401, { code: 'woocommerce_rest_x', message: 'no' }),
    ],
    [
      'refuses the keys with the status 200',
      'unauthorized',
      /200, but woocommerce_rest_cannot_view: no$/,
      (_, r) =>
        send(r, 200, {
          code: 'woocommerce_rest_cannot_view',
          message: 'no',
          data: { status: 401 },
        }),
    ],
    [
      'answers 500',
      'unavailable',
      /500, not WooCommerce's answer: .*begins with "There has been/,
      (_, r) => send(r, 500, '<p>There has been a critical error</p>'),
    ],
    [
      'has no such route',
      'refused',
      /404 rest_no_route/,
      (_, r) => send(r, 404, { code: 'rest_no_route', message: 'No' }),
    ],
    [
      'has no such route, with the status 200',
      'unreadable',
      /200, but rest_no_route: No$/,
      (_, r) => send(r, 200, { code: 'rest_no_route', message: 'No' }),
    ],
    [
      'has a firewall before it',
      'unreadable',
      /403, not WooCommerce's answer: the page "Just a moment\.\.\." of a firewall/,
      (_, r) =>
        send(r, 403, '<!DOCTYPE html><html><head><title>Just a moment...</title>', {
          server: 'cloudflare',
        }),
    ],
    [
      'refuses with an empty 401',
      'unreadable',
      /401, not .* an empty answer$/,
      (_, r) => send(r, 401, ''),
    ],
    [
      'has a challenge before it',
      'unreadable',
      /202, not .* an empty answer$/,
      (_, r) => send(r, 202, ''),
    ],
    [
      'answers 204',
      'unreadable',
      /204, not .* an empty answer$/,
      (_, r) => {
        r.writeHead(204).end();
        return true;
      },
    ],
    [
      'answers with nothing',
      'unreadable',
      /200, but not .* an empty answer$/,
      (_, r) => send(r, 200, ''),
    ],
    [
      'is behind a gateway that waits no longer',
      'unavailable',
      /504, .* the page "504 Gateway Time-out"/,
      (_, r) => send(r, 504, '<html>\r\n<head><title>504 Gateway Time-out</title></head>'),
    ],
    [
      'shows a notice of PHP before its JSON',
      'unreadable',
      /begins with "Notice : Undefined index: x in .*a PHP notice: switch off display_errors$/,
      (_, r) =>
        send(
          r,
          200,
          '<br />\n<b>Notice</b>:  Undefined index: x in <b>/a.php</b> on line <b>3</b><br />\n[]',
        ),
    ],
    [
      'answers with a text',
      'unreadable',
      /begins with "Error establishing a database connection"$/,
      (_, r) => send(r, 200, 'Error establishing a database connection'),
    ],
    [
      'redirects',
      'unreadable',
      /redirect/,
      (_, r) => send(r, 301, '', { location: 'https://www.example.com/' }),
    ],
    [
      'answers with a login page',
      'unreadable',
      /200, but not .* the page "Log In . Shop" of a firewall, a login/,
      (_, r) => send(r, 200, '\n<html><title>Log In ‹ Shop</title>'),
    ],
    ['answers with an object', 'unreadable', /not a list/, (_, r) => send(r, 200, { orders: [] })],
    [
      'cuts its JSON short',
      'unreadable',
      /not complete JSON/,
      (_, r) => send(r, 200, '[{"id":1,"line_items":['),
    ],
    [
      'does not answer in UTF-8',
      'unreadable',
      /not complete JSON in UTF-8/,
      (_, r) => {
        r.writeHead(200).end(Buffer.from([0x5b, 0xff, 0x5d]));
        return true;
      },
    ],
    [
      'answers at too great length',
      'unreadable',
      /longer than 1048576 bytes/,
      (_, r) => send(r, 200, `["${'x'.repeat(1_100_000)}"]`),
    ],
    [
      'closes the connection',
      'unreachable',
      /./,
      (_, r) => {
        r.socket?.destroy();
        return true;
      },
    ],
    [
      'closes the connection within its answer',
      'unreachable',
      /./,
      (_, r) => {
        r.writeHead(200, { 'content-length': '500' });
        r.write('[{');
        r.socket?.end();
        return true;
      },
    ],
    ['does not answer', 'unreachable', /no complete answer within 300 ms/, () => true],
    [
      'never ends its answer',
      'unreachable',
      /no complete answer within 300 ms/,
      (_, r) => {
        r.writeHead(200).write('[');
        return true;
      },
    ],
  ])(
    'ends the run with a logged error when the shop %s, and the next run continues',
    async (_, kind, message, fault) => {
      const stub = await shopWith(25);
      let isDown = true;
      stub.misbehave = (call, response) => isDown && call.number > 1 && fault(call, response);
      const { run, bought, watermark, log, readBack } = await readBackOf('woocommerce', stub, {
        rest: {
          timeouts: {
            connectMs: 60_000,
            // Only the call that gets no answer is given up soon: a busy machine may answer the
            // others late.
            get totalMs() {
              return message.source.includes('within 300 ms') && stub.calls.length > 0 && isDown
                ? 300
                : 60_000;
            },
          },
        },
      });
      const failed = await run();
      expect(failed).toMatchObject({ complete: false, pages: 1, accepted: 10 });
      expect([failed.error?.kind, failed.error?.message]).toEqual([
        kind,
        expect.stringMatching(message),
      ]);
      expect(await watermark()).toBe(stub.orders[9]?.modifiedMs);
      expect(log().filter(({ level }) => level === 50)).toMatchObject([{ kind, failures: 1 }]);
      expect(JSON.stringify([log(), failed])).not.toMatch(new RegExp(`${woo.key}|${woo.secret}`));
      expect(readBack.health()).toBe(kind === 'unauthorized' ? 'warn' : 'pass');
      // The page, and the smallest question.
      expect(stub.calls.length).toBeLessThanOrEqual(3);
      isDown = false;
      expect(await run()).toMatchObject({ complete: true, accepted: 15, error: null });
      expect([bought().length, readBack.health()]).toEqual([25, 'pass']);
    },
  );

  it('makes the health check warn after three failed runs, until a run succeeds', async () => {
    const stub = await shopWith(1);
    stub.misbehave = (_, response) => send(response, 502, '<html>Bad gateway</html>');
    const { run, readBack, watermark } = await readBackOf('woocommerce', stub);
    const health = [];
    const marks = new Set();
    for (let runs = 0; runs < 3; runs += 1) {
      await run();
      health.push(readBack.health());
      marks.add(await watermark());
    }
    expect([health, marks.size]).toEqual([['pass', 'pass', 'warn'], 1]);
    stub.misbehave = () => false;
    expect([(await run()).accepted, readBack.health()]).toEqual([1, 'pass']);
  });

  it.each([
    ['429', 429, {}],
    ['503 with Retry-After', 503, {}],
  ])('waits within the run when the shop asks it to (%s)', async (_, status) => {
    const stub = await shopWith(15);
    const at: number[] = [];
    stub.misbehave = ({ number }, response) => {
      at.push(performance.now());
      return number === 2 ? send(response, status, 'wait', { 'retry-after': '1.0' }) : false;
    };
    const { run } = await readBackOf('woocommerce', stub);
    expect(await run()).toMatchObject({ complete: true, accepted: 15, error: null });
    expect((at[2] ?? 0) - (at[1] ?? 0)).toBeGreaterThan(990);
  });

  it('ends the run when the shop asks for a longer wait than a run may take', async () => {
    const stub = await shopWith(15);
    stub.misbehave = nth(2, (_, response) =>
      send(response, 429, 'wait', { 'retry-after': '3600' }),
    );
    const { run } = await readBackOf('woocommerce', stub);
    expect(await run()).toMatchObject({ error: { kind: 'rate_limited' }, accepted: 10 });
  });

  it('removes our keys from the message when the shop repeats them', async () => {
    const stub = await shopWith(1);
    stub.misbehave = (_, response) =>
      send(response, 400, { code: 'bad', message: `${woo.key} and ${woo.secret}` });
    const { run } = await readBackOf('woocommerce', stub);
    expect((await run()).error?.message).toMatch(/400 bad: \[key\] and \[key\]$/);
  });

  it('sends nothing to a shop whose certificate is not trusted', async () => {
    const { cert, key } = certificates.good;
    let asked = 0;
    const server = createTlsServer({ cert, key }, (_, response) => {
      asked += 1;
      response.end('[]');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const stub = await shopWith(0);
    const { run } = await readBackOf('woocommerce', stub, {
      rest: { url: `https://localhost:${port}` },
    });
    expect((await run()).error).toMatchObject({
      kind: 'unreachable',
      message: expect.stringMatching(/SELF_SIGNED.*`rest\.ca_file`$/),
    });
    expect(asked).toBe(0);
  });
});

describe('a worker that reads a shop back', () => {
  it('reads again what was not on disk when it dies after any number of orders, and buys nothing twice', async () => {
    const stub = await shopWith(25);
    const outbox = await Outbox.open();
    onTestFinished(() => outbox.close());
    for (const dieAt of [0, 3, 9, 10, 11, 24]) {
      const { readBack, handler } = await readBackOf('woocommerce', stub, { outbox });
      const take = handler.take.bind(handler);
      let taken = 0;
      handler.take = async (state) => {
        if (taken === dieAt) throw new Error('the process is gone');
        taken += 1;
        return await take(state);
      };
      const [report] = await readBack.run({ shop: null, sinceMs: null });
      expect(report?.error?.kind).toBe('internal');
      const mark = await outbox.store.storefronts.watermark('main');
      // Everything up to the watermark is on disk.
      const covered = stub.orders.filter(({ modifiedMs }) => modifiedMs <= (mark ?? 0));
      for (const { id } of covered) expect(outbox.store.read.findOrder('main', id)).not.toBeNull();
    }
    const last = await readBackOf('woocommerce', stub, { outbox });
    expect(await last.run()).toMatchObject({ complete: true, error: null });
    expect(last.bought()).toHaveLength(25);
  });

  it('reads at its start and by its schedule, and never has two runs of a shop at a time', async () => {
    const stub = await shopWith(3);
    const third = Promise.withResolvers<void>();
    stub.misbehave = ({ number }) => {
      if (number === 3) third.resolve();
      return false;
    };
    const { readBack, handler, run, bought } = await readBackOf('woocommerce', stub, {
      rest: { schedule: '* * * * * *' },
    });
    let open = 0;
    let most = 0;
    const take = handler.take.bind(handler);
    handler.take = async (state) => {
      open += 1;
      most = Math.max(most, open);
      // Long enough for a second run to get here, if there were one.
      await new Promise((resolve) => void setTimeout(resolve, 50));
      open -= 1;
      return await take(state);
    };
    await readBack.start();
    await Promise.all([run(), run(), third.promise]);
    expect([bought().length, most]).toEqual([3, 1]);
  });

  it('stops at once, even during an unanswered call and during a wait that the shop asked for', async () => {
    for (const fault of [
      () => true,
      (_: unknown, response: Parameters<Misbehaviour>[1]) =>
        send(response, 429, '', { 'retry-after': '59' }),
    ]) {
      const stub = await shopWith(1);
      const asked = Promise.withResolvers<void>();
      stub.misbehave = (call, response) => {
        asked.resolve();
        return fault(call, response);
      };
      const { readBack, log } = await readBackOf('woocommerce', stub, {
        rest: { timeouts: { connectMs: 60_000, totalMs: 60_000 } },
      });
      await readBack.start();
      await asked.promise;
      const startMs = performance.now();
      await readBack.stop();
      // Neither the call nor the wait came to its end.
      expect(performance.now() - startMs).toBeLessThan(45_000);
      expect(log().filter(({ level }) => Number(level) >= 50)).toEqual([]);
    }
  });

  it('takes over changed shops while it runs: it keeps the unchanged, uses new keys, and stops reading removed ones', async () => {
    const stub = await shopWith(1);
    const { readBack, shop, bought } = await readBackOf('woocommerce', stub, {
      rest: { schedule: '* * * * * *' },
    });
    await readBack.start();
    await stub.asks(1);
    readBack.prepare([shop])();
    expect((await readBack.run({ shop: null, sinceMs: null }))[0]).toMatchObject({ error: null });
    if (shop.platform !== 'woocommerce' || shop.rest === null)
      throw new Error('the shop is one of WooCommerce');
    readBack.prepare([{ ...shop, rest: { ...shop.rest, consumerSecret: 'cs_wrong' } }])();
    expect((await readBack.run({ shop: null, sinceMs: null }))[0]?.error?.kind).toBe(
      'unauthorized',
    );
    expect(readBack.health()).toBe('warn');
    readBack.prepare([])();
    expect(readBack.health()).toBe('pass');
    await expect(readBack.run({ shop: null, sinceMs: null })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
    await readBack.stop();
    const calls = stub.calls.length;
    // Longer than its schedule.
    await new Promise((resolve) => void setTimeout(resolve, 1100));
    expect([stub.calls.length, bought().length]).toEqual([calls, 1]);
  });

  it('ends the run of a slow shop after ten minutes, and continues in the next one', async () => {
    const stub = await shopWith(35);
    const clock = new SystemClock();
    const mono = clock.steadyMs.bind(clock);
    let laterMs = 0;
    clock.steadyMs = () => mono() + laterMs;
    stub.misbehave = ({ number }) => {
      if (number === 2) stub.clockAheadMs = laterMs = 600_000;
      return false;
    };
    const { run, bought } = await readBackOf('woocommerce', stub, { clock });
    expect(await run()).toMatchObject({ complete: false, pages: 2, error: null });
    expect(await run()).toMatchObject({ complete: true, error: null });
    expect(bought()).toHaveLength(35);
  });

  it('advances the watermark over an unsorted list only after it read the list to its end', async () => {
    const stub = await shopWith(25);
    let isDown = true;
    stub.misbehave = ({ url, number }, response) => {
      // Newest first, whatever was asked for.
      url.searchParams.delete('orderby');
      return isDown && number > 2 ? send(response, 500, '') : false;
    };
    const { run, bought, watermark } = await readBackOf('woocommerce', stub);
    const { error } = await run();
    expect([error?.kind, (await watermark()) ?? 0]).toEqual(['unavailable', expect.any(Number)]);
    expect((await watermark()) ?? 0).toBeLessThan(stub.orders[0]?.modifiedMs ?? 0);
    isDown = false;
    expect(await run()).toMatchObject({ complete: true, error: null });
    expect([bought().length, await watermark()]).toEqual([25, stub.orders.at(-1)?.modifiedMs]);
  });

  it('opens the list once where the clocks agree, however late the first answer comes', async () => {
    const stub = await shopWith(1);
    const clock = new MovedClock();
    stub.misbehave = () => {
      clock.aheadMs = 20_000;
      return false;
    };
    const { run } = await readBackOf('woocommerce', stub, { clock });
    expect(await run()).toMatchObject({ complete: true, accepted: 1 });
    expect(stub.asked().filter((path) => path.includes('modified_after'))).toHaveLength(1);
  });

  it('continues at its watermark after three days without a worker', async () => {
    const stub = await shopWith(0);
    const clock = new SystemClock();
    clock.wallMs = () => Date.now() - 72 * hour;
    const before = await readBackOf('woocommerce', stub, { lookbackH: 0, clock });
    await before.readBack.start();
    await before.readBack.stop();
    for (let day = 1; day <= 3; day += 1) {
      stub.put({
        id: String(day),
        modifiedMs: minutesAgo((day - 1) * 24 * 60 + 30),
        body: wooBody(`${day}1`),
      });
    }
    const after = await readBackOf('woocommerce', stub, { lookbackH: 0, outbox: before.outbox });
    expect(await after.run()).toMatchObject({ complete: true, accepted: 3 });
  });
});
