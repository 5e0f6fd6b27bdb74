import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import { runCommandLine } from '../../../src/cli/commands/program.ts';
import { SystemClock } from '../../../src/ops/system-clock.ts';
import { Installation, order as fileOrder, projectRoot } from '../../support/worker-process.ts';
import { minutesAgo, oneCard } from '../read-back/running-read-back.ts';
import { deliver, installationFor } from '../read-back/shop-worker.ts';
import { StubWooCommerce, woo } from '../read-back/stub-shop.ts';

/** A YAML block of the walk-through in the documentation, the first one that has this text. */
function documented(text: string): string {
  const page = readFileSync(join(projectRoot, 'docs/storefronts.md'), 'utf8');
  const part = page.slice(page.indexOf('### Ten minutes'));
  const block = [...part.matchAll(/```yaml\n([\s\S]*?)```/g)]
    .map(([, yaml = '']) => yaml)
    .find((yaml) => yaml.includes(text));
  if (block === undefined) throw new Error(`the walk-through has no block with ${text}`);
  return block.replaceAll(/^ {3}/gm, '');
}

const isWritten = (line: { msg: string }): boolean =>
  line.msg === 'wrote the result into the order of the shop';

it('brings a new user from a shop to the first code in an order, as the walk-through says', async () => {
  const stub = await new StubWooCommerce().open();
  const installation = await Installation.open();
  onTestFinished(() => installation.close());
  const { folder, sandbox } = installation;
  writeFileSync(join(folder, 'my-skus.yaml'), documented('gift_card_order'));
  const config = documented('write_back')
    .replace('http://127.0.0.1:8090', sandbox.url)
    .replace('https://shop.example.com', stub.url)
    .replace('ck_of_your_shop', woo.key)
    .replace('cs_of_your_shop', woo.secret)
    .replace('127.0.0.1:8080', '127.0.0.1:0')
    .replaceAll('./', `${folder}/`);
  const configFile = join(folder, 'my-shop.yaml');
  // Other tests run on this machine, so the ports are free ones.
  writeFileSync(configFile, `${config}admin: { listen: "127.0.0.1:0" }\n`);
  const run = async (...argv: string[]): Promise<string> => {
    let output = '';
    const write = { write: (text: string) => (output += text) };
    const code = await runCommandLine([...argv, '--config', configFile], {
      stdout: write,
      stderr: write,
      clock: new SystemClock(),
    });
    expect([argv[0], code, code === 0 ? '' : output]).toEqual([argv[0], 0, '']);
    return output;
  };
  await run('check-config');
  const worker = installation.start([], configFile);
  await worker.started();
  const paid = { date_paid_gmt: new Date().toISOString().slice(0, 19) };
  const order = stub.put({ id: '7', modifiedMs: Date.now(), body: { ...oneCard('71'), ...paid } });
  await run('reconcile');
  await worker.line(isWritten);
  const [mail] = stub.shop.mails;
  const [, code = ''] = /Code: <code>([^<]+)<\/code>/.exec(mail?.text ?? '') ?? [];
  expect(code).not.toBe('');
  expect([order.body['status'], stub.shop.mails.map(({ kind }) => kind)]).toEqual([
    'completed',
    ['note', 'completed'],
  ]);
  expect(await run('orders', 'show', '7', '--source', 'main')).toContain('woocommerce:main');
  expect(JSON.stringify(worker.log)).not.toContain(code);
  expect(await worker.end('SIGTERM')).toBe(0);
});

it('is added by a reload, delays no purchase while the shop is silent, and writes each result once after kills', async () => {
  const stub = await new StubWooCommerce().open();
  const installation = await installationFor(stub);
  let worker = installation.start();
  await worker.started();
  installation.configure((config) => {
    config.intake.webhook.woocommerce[0].write_back = { deliver_codes: 'note' };
  });
  expect(await worker.reload()).toMatchObject({ need_restart: [] });
  const order = stub.put({ id: '7', modifiedMs: minutesAgo(10), body: oneCard('71') });
  // The first worker posts in vain until it is killed, and the shop processes the first post of the
  // second one late.
  const posted = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let kills = 0;
  let isLate = false;
  stub.faultOf = ({ method }) => {
    if (method !== 'POST' || kills === 2) return { kind: 'none' };
    posted[kills]?.resolve();
    if (kills === 0 || isLate) return { kind: 'lost' };
    isLate = true;
    return { kind: 'late', ms: 300 };
  };
  await deliver(worker, stub.shown(order));
  while (kills < 2) {
    await posted[kills]?.promise;
    if (kills === 0) {
      installation.drop('others.ndjson', `${fileOrder(1)}\n`);
      await worker.line(
        (line) =>
          line['source'] === 'shop' && line['sink'] === 'folder' && line['state'] === 'completed',
      );
    }
    await worker.end('SIGKILL');
    kills += 1;
    worker = installation.start();
    await worker.started();
  }
  // On a slow machine the second worker may have delivered it before it was killed.
  const due =
    "SELECT 1 FROM deliveries WHERE sink = 'woocommerce:main' AND done_version < due_version";
  await expect.poll(() => installation.query(due), { timeout: 120_000 }).toEqual([]);
  await stub.settled();
  expect(order.body['status']).toBe('completed');
  expect([stub.shop.notesOf('7').length, stub.shop.mails.map(({ kind }) => kind)]).toEqual([
    1,
    ['note', 'completed'],
  ]);
  expect([installation.sandbox.ledger().orders.length, stub.shop.addedLines]).toEqual([2, []]);
  expect(await worker.end('SIGTERM')).toBe(0);
});

it('writes at once what the shop refused, when a reload brings another key', async () => {
  const stub = await new StubWooCommerce().open();
  stub.shop.permission = 'read';
  const installation = await installationFor(stub, {}, { timeScale: 1 });
  installation.configure((config) => {
    config.intake.webhook.woocommerce[0].write_back = {};
    config.trial.time_scale = 1;
  });
  const worker = installation.start();
  await worker.started();
  const order = stub.put({ id: '7', modifiedMs: minutesAgo(1), body: oneCard('71') });
  await deliver(worker, stub.shown(order));
  const refused = await worker.line(({ msg }) => msg === 'a result could not be delivered');
  expect(refused['retry_in_ms']).toBeGreaterThanOrEqual(10_000);
  // As if it had failed for hours: nothing but the reload makes it due.
  const later = new SqliteDatabase(installation.databasePath);
  later.exec(
    "UPDATE deliveries SET due_steady = due_steady + 7200000 WHERE sink = 'woocommerce:main'",
  );
  later.close();
  stub.shop.permission = 'read_write';
  installation.configure((config) => {
    config.intake.webhook.woocommerce[0].rest.schedule = '0 0 2 1 *';
  });
  await worker.reload();
  await worker.line(isWritten);
  expect(order.body['status']).toBe('completed');
});
