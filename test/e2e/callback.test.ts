import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { afterEach, describe, expect, it } from 'vitest';
import { runHere } from '../cli/installation.ts';
import { answers, cutsOff, hangs, Receiver, takes, answersForever } from '../support/receiver.ts';
import { Installation, order } from '../support/worker-process.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.close();
});

const secret = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;

async function receiver(...given: Parameters<typeof Receiver.open>): Promise<Receiver> {
  const made = await Receiver.open(...given);
  open.push(made);
  return made;
}

async function installationFor(
  url: string,
  { callback, ...changes }: { callback?: object; timeScale?: number } = {},
): Promise<Installation> {
  const installation = await Installation.open({
    callback: { url, secrets: [{ value: secret }], ...callback },
    ...changes,
  });
  open.push(installation);
  return installation;
}

const written = (line: { msg: string; sink?: unknown }): boolean =>
  line.msg === 'result delivered' && line.sink === 'callback:shop';
const deliveries = (installation: Installation) =>
  installation.query<Record<string, unknown>>(
    'SELECT sink, done, tries, last_error FROM delivery_log ORDER BY sink',
  );

describe('the callback sink in a running worker', () => {
  it('posts the same bytes as in the folder, with a signature that the library of Standard Webhooks accepts', async () => {
    const shop = await receiver(takes);
    const installation = await installationFor(`${shop.url}/results/of/me`);
    installation.drop('a.ndjson', `${order(1)}\n`);
    const worker = installation.start();
    const isWrittenBy = (sink: string) =>
      worker.line((line) => line['sink'] === sink && line['state'] === 'completed');
    await isWrittenBy('folder');
    await isWrittenBy('callback:shop');
    const last = shop.posts.at(-1);
    expect(last?.path).toBe('/results/of/me');
    expect(last?.headers['content-type']).toBe('application/json');
    expect(last?.body).toBe(readFileSync(join(installation.folder, 'results/shop/1.json'), 'utf8'));
    const headers = Object.fromEntries(
      Object.entries(last?.headers ?? {}).map(([name, value]) => [name, String(value)]),
    );
    expect(new Webhook(secret).verify(last?.body ?? '', headers)).toMatchObject({
      order_id: '1',
      state: 'completed',
    });
    // The post contains the codes; no line of the log does.
    expect(JSON.stringify(worker.log)).not.toContain(secret);
    expect(await worker.end('SIGTERM')).toBe(0);
    expect(deliveries(installation)).toMatchObject([
      { sink: 'callback:shop', done: 1 },
      { sink: 'folder', done: 1 },
    ]);
  });

  it.each([
    ['refuses it', answers(500), 'the receiver answered 500'],
    ['does not answer', hangs, 'the receiver could not be reached: did not answer within 1500 ms'],
    [
      'breaks the connection off',
      cutsOff,
      /^the receiver could not be reached: (ECONNRESET|UND_ERR_SOCKET)$/,
    ],
  ])('retries when the receiver %s', async (_name, answer, error) => {
    const shop = await receiver(answer, takes);
    const installation = await installationFor(shop.url);
    const worker = installation.start();
    await worker.started();
    installation.drop('a.ndjson', `${order(1)}\n`);
    const failed = await worker.line((line) => line.msg === 'a result could not be delivered');
    expect(failed['err']).toMatch(error);
    await worker.line((line) => written(line) && line['state'] === 'completed');
    await worker.end('SIGTERM');
  });

  it('follows no redirect: delivered codes would go to an address that nobody configured', async () => {
    const elsewhere = await receiver(takes);
    const shop = await receiver(answers(307, { location: elsewhere.url }));
    const installation = await installationFor(shop.url);
    installation.drop('a.ndjson', `${order(1)}\n`);
    const worker = installation.start();
    const failed = await worker.line((line) => line.msg === 'a result could not be delivered');
    expect(failed['err']).toBe(
      'the receiver answered 307: a redirect, which is not followed; configure the final address',
    );
    await worker.line(
      (line) =>
        line.msg === 'result delivered' &&
        line['sink'] === 'folder' &&
        line['state'] === 'completed',
    );
    expect(elsewhere.posts).toEqual([]);
    await worker.end('SIGTERM');
  });

  it('has delivered a result when the status is there, however long the body is', async () => {
    const shop = await receiver(answersForever);
    const installation = await installationFor(shop.url);
    installation.drop('a.ndjson', `${order(1)}\n`);
    const worker = installation.start();
    await worker.line((line) => written(line) && line['state'] === 'completed');
    expect(await worker.end('SIGTERM')).toBe(0);
  });

  it('gives a delivery up in the end, flags it, and retries it when an operator asks; buying continues', async () => {
    const shop = await receiver(answers(503));
    const installation = await installationFor(shop.url, { timeScale: 0 });
    installation.drop('a.ndjson', `${order(1)}\n`);
    const worker = installation.start();
    const given = await worker.line(
      (line) => line.msg.startsWith('gave up delivering a result') && line['tries'] === 10,
    );
    expect(given).toMatchObject({
      sink: 'callback:shop',
      order_id: '1',
      err: 'the receiver answered 503',
    });
    await worker.line((line) => line.msg === 'result delivered' && line['state'] === 'completed');
    const cli = async (...argv: string[]) =>
      (await runHere([...argv, '--config', installation.configFile])).stdout;
    const attention = JSON.parse(await cli('queue', 'status', '--json'));
    expect(attention.attention).toMatchObject([
      {
        kind: 'delivery',
        source: 'shop',
        order_id: '1',
        state: 'given_up',
        message:
          'the sink callback:shop did not take the result (10 tries): the receiver answered 503',
      },
    ]);
    expect(JSON.parse(await cli('orders', 'list', '--attention', '--json')).orders).toHaveLength(1);
    expect(await cli('orders', 'show', '1')).toContain('result (callback:shop): given up');
    expect(attention.results_due).toBe(0);
    const before = shop.posts.length;
    expect(
      await cli(
        'results',
        'rewrite',
        '--sink',
        'callback:shop',
        '--given-up',
        '--yes',
        '--reason',
        'repaired',
      ),
    ).toContain('1');
    await shop.arrived(before + 1);
    expect(await worker.end('SIGTERM')).toBe(0);
  });

  it('repeats a delivery at the next start when the worker was killed during it', async () => {
    const shop = await receiver(hangs, takes);
    const installation = await installationFor(shop.url);
    installation.drop('a.ndjson', `${order(1)}\n`);
    const worker = installation.start();
    await shop.arrived(1);
    await worker.end('SIGKILL');
    const next = installation.start();
    await next.line((line) => written(line) && line['state'] === 'completed');
    expect(await next.end('SIGTERM')).toBe(0);
  });

  it('does not delay the stop of the worker: a hanging delivery stays due', async () => {
    const shop = await receiver(hangs);
    const installation = await installationFor(shop.url, { timeScale: 1 });
    installation.drop('a.ndjson', `${order(1)}\n`);
    const worker = installation.start();
    await shop.arrived(1);
    await shop.arrived(1);
    await worker.line((line) => line.msg === 'result delivered' && line['state'] === 'completed');
    const asked = performance.now();
    expect(await worker.end('SIGTERM')).toBe(0);
    expect(performance.now() - asked).toBeLessThan(8000);
    expect(deliveries(installation)).toMatchObject([
      { sink: 'callback:shop', done: 0, last_error: null },
      { sink: 'folder', done: 1 },
    ]);
  });

  it('takes over addresses, secrets and endpoints with a reload, and gives up what is due at a removed one', async () => {
    const [old, next, more] = [
      await receiver(answers(500)),
      await receiver(takes),
      await receiver(takes),
    ];
    const installation = await installationFor(old.url);
    const worker = installation.start();
    await worker.started();
    const added = `whsec_${Buffer.alloc(32, 10).toString('base64')}`;
    installation.configure((config) => {
      const [shop] = config.results.callbacks;
      Object.assign(shop, { url: next.url, secrets: [{ value: secret }, { value: added }] });
      config.results.callbacks.push({
        name: 'erp',
        url: more.url,
        secrets: [{ value: added }],
        sources: ['shop'],
      });
    });
    const changed = await worker.reload();
    expect(changed['need_restart']).toEqual([]);
    installation.drop('a.ndjson', `${order(1)}\n`);
    await worker.line((line) => written(line) && line['state'] === 'completed');
    await worker.line((line) => line['sink'] === 'callback:erp' && line['state'] === 'completed');
    expect(old.posts).toEqual([]);
    const { headers, body } = next.posts.at(-1) ?? { headers: {}, body: '' };
    const given = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, String(value)]),
    );
    for (const known of [secret, added])
      expect(new Webhook(known).verify(body, given)).toMatchObject({ order_id: '1' });

    installation.configure((config) => {
      config.results.callbacks[0].url = old.url;
    });
    await worker.reload();
    installation.drop('b.ndjson', `${order(2)}\n`);
    await worker.line((line) => line.msg === 'a result could not be delivered');
    installation.configure((config) => {
      config.results.callbacks.shift();
    });
    await worker.reload();
    await worker.line(
      (line) => line.msg === 'gave up deliveries to a sink that is no longer configured',
    );
    const posts = old.posts.length;
    installation.drop('c.ndjson', `${order(3)}\n`);
    await worker.line(
      (line) =>
        line['sink'] === 'callback:erp' &&
        line['order_id'] === '3' &&
        line['state'] === 'completed',
    );
    expect(old.posts).toHaveLength(posts);
    expect(deliveries(installation).filter(({ sink }) => sink === 'callback:shop')).toHaveLength(2);
    expect(await worker.end('SIGTERM')).toBe(0);
  });

  it('posts the results of its sources only', async () => {
    const [all, one] = [await receiver(takes), await receiver(takes)];
    const installation = await installationFor(all.url);
    installation.configure((config) => {
      const secrets = [{ value: secret }];
      config.results.callbacks.push({
        name: 'other',
        url: one.url,
        secrets,
        sources: ['another-shop'],
      });
    });
    installation.drop('a.ndjson', `${order(1)}\n${order(2).replace('"shop"', '"another-shop"')}\n`);
    const worker = installation.start();
    const isDone = (sink: string, id: string) => (line: { [key: string]: unknown }) =>
      line['sink'] === sink && line['order_id'] === id && line['state'] === 'completed';
    await worker.line(isDone('callback:shop', '1'));
    await worker.line(isDone('callback:shop', '2'));
    await worker.line(isDone('callback:other', '2'));
    expect(new Set(one.posts.map(({ body }) => JSON.parse(body).source))).toEqual(
      new Set(['another-shop']),
    );
    expect(await worker.end('SIGTERM')).toBe(0);
  });

  it('posts the events that the endpoint wants, each in an envelope and once, and again when an operator asks', async () => {
    const shop = await receiver(takes);
    const installation = await installationFor(shop.url, {
      callback: { events: ['order.settled'] },
    });
    installation.drop('a.ndjson', `${order(1)}\n`);
    const worker = installation.start();
    await worker.line((line) => written(line) && line['state'] === 'completed');
    expect(await worker.end('SIGTERM')).toBe(0);
    const again = installation.start();
    await again.started();
    const which = ['--source', 'shop', '--order', '1', '--reason', 'the shop lost it'];
    const rewrite = ['results', 'rewrite', ...which, '--config', installation.configFile];
    await runHere(rewrite);
    await shop.arrived(2);
    await again.line((line) => written(line));
    expect(await again.end('SIGTERM')).toBe(0);
    expect(shop.posts).toHaveLength(2);
    const ids = shop.posts.map(({ headers, body }) => {
      const given = Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name, String(value)]),
      );
      expect(new Webhook(secret).verify(body, given)).toMatchObject({
        type: 'order.settled',
        timestamp: expect.stringMatching(/^20/),
        data: { source: 'shop', order_id: '1', state: 'completed' },
      });
      return given['webhook-id'];
    });
    expect(new Set(ids).size).toBe(2);
    expect(deliveries(installation)).toMatchObject([
      { sink: 'callback:shop', done: 1 },
      { sink: 'folder', done: 1 },
    ]);
  });

  it('is paused while it fails, shown in health and in queue status, and delivers everything afterwards', async () => {
    let isDown = true;
    const shop = await receiver((response) => void response.writeHead(isDown ? 500 : 204).end());
    const installation = await installationFor(shop.url);
    installation.drop('a.ndjson', [1, 2, 3, 4, 5, 6].map((id) => `${order(id)}\n`).join(''));
    const worker = installation.start();
    const { admin } = await worker.started();
    await worker.line((line) => line.msg.startsWith('this sink fails: it is paused'));
    const health = await (await fetch(`http://${String(admin)}/healthz`)).json();
    expect(health).toMatchObject({
      status: 'warn',
      checks: { results: 'warn' },
      details: {
        results: { 'callback:shop': { reason: 'http_500', waiting: expect.any(Number) } },
      },
    });
    const { stdout } = await runHere(['queue', 'status', '--config', installation.configFile]);
    expect(stdout).toMatch(/SINK PAUSED.*\ncallback:shop .* the receiver answered 500/);
    isDown = false;
    await worker.line((line) => line.msg === 'this sink takes results again');
    for (const id of [1, 2, 3, 4, 5, 6])
      await worker.line(
        (line) => written(line) && line['order_id'] === String(id) && line['state'] === 'completed',
      );
    expect(await worker.end('SIGTERM')).toBe(0);
    expect(deliveries(installation).every(({ done }) => done === 1)).toBe(true);
  });
});
