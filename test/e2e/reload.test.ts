import { mkdirSync, renameSync, symlinkSync, writeFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { runHere } from '../cli/installation.ts';
import { Installation, order, type WorkerProcess } from '../support/worker-process.ts';

let installation: Installation | null = null;
afterEach(async () => {
  await installation?.close();
  installation = null;
});

const orders = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => `${order(from + index)}\n`).join('');

const keys = {
  main: { name: 'main', value: 'sandbox-key-main' },
  spare: { name: 'spare', value: 'sandbox-key-spare' },
  next: { name: 'next', value: 'sandbox-key-next' },
};
const account = { id: 'acme', keys: Object.values(keys) };

async function until(holds: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + 30_000;
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`it did not come to this: ${what}`);
    await new Promise((resolve) => void setTimeout(resolve, 10));
  }
}

const healthSchema = z.object({ status: z.string(), checks: z.record(z.string(), z.string()) });
async function health(worker: WorkerProcess): Promise<z.infer<typeof healthSchema>> {
  const { admin } = await worker.started();
  const answer = await fetch(`http://${String(admin)}/healthz`);
  return healthSchema.parse(await answer.json());
}

describe('a key that is revoked and replaced while the worker runs', () => {
  it('loses no order, buys none twice and gets no 429: another key does its work, and the new value is probed first', {
    timeout: 90_000,
  }, async () => {
    const limits = { window_ms: 2000, requests: 60, orders: 20 };
    installation = await Installation.open({
      sandbox: {
        accounts: [account],
        limits: { enabled: true, ...limits },
        latency: { before_ms: [0, 30], after_ms: [0, 30] },
      },
      limits: { ...limits, transit_ms: 200 },
      keys: [keys.main, keys.spare],
      // Without the reload the worker would probe it after five minutes.
      timeScale: 1,
    });
    const { sandbox } = installation;
    installation.drop('a.ndjson', orders(0, 160));
    const worker = installation.start();
    await worker.started();
    await until(() => sandbox.ledger().orders.length >= 10, 'some orders are bought');
    await sandbox.operate((operator) => operator.revokeKey('acme', 'main'));
    const paused = await worker.line((line) => line.msg === 'scope paused');
    expect(paused).toMatchObject({ scope: 'key:main', reason: 'invalid_key' });
    const boughtBefore = sandbox.ledger().orders.length;
    await until(() => sandbox.ledger().orders.length >= boughtBefore + 20, 'the other key is used');

    installation.configure((config) => {
      config.wholesale.keys[0].value = keys.next.value;
    });
    expect(await worker.reload()).toMatchObject({
      applied: ['wholesale.keys[].value'],
      need_restart: [],
    });
    expect(await worker.line((line) => line.msg === 'scope resumed')).toMatchObject({
      scope: 'key:main',
    });
    await until(
      () => installation?.query("SELECT 1 FROM outbox WHERE state <> 'fulfilled'").length === 0,
      'all is bought',
    );
    expect(await worker.end('SIGTERM'), worker.stderr).toBe(0);

    const ledger = sandbox.ledger();
    const references = installation
      .query<{ reference: string }>('SELECT reference FROM outbox')
      .map((row) => row.reference);
    expect(references).toHaveLength(160);
    expect(ledger.orders.map(({ reference }) => reference).toSorted()).toEqual(
      references.toSorted(),
    );
    expect(ledger.keys.map((key) => key.limited)).toEqual([0, 0, 0]);
    const [, , next] = ledger.keys;
    expect(next?.orders_at.length).toBeGreaterThan(0);
    // The first call with the new value was a probe, which spends nothing.
    expect(next?.requests_at[0]).toBeLessThan(Math.min(...(next?.orders_at ?? [])));
    expect(
      installation.query("SELECT action, actor FROM audit_log WHERE subject = 'key:main'"),
    ).toEqual([
      { action: 'pause', actor: 'worker' },
      { action: 'resume', actor: 'worker' },
    ]);
    expect(JSON.stringify(worker.log)).not.toContain('sandbox-key');
  });

  it('is not used while it is removed, and has its old budget when it is added again', {
    timeout: 60_000,
  }, async () => {
    const limits = { window_ms: 4000, requests: 60, orders: 10 };
    installation = await Installation.open({
      sandbox: { accounts: [account], limits: { enabled: true, ...limits } },
      limits: { ...limits, transit_ms: 200 },
      keys: [keys.main],
    });
    const { sandbox } = installation;
    installation.drop('a.ndjson', orders(0, 10));
    const worker = installation.start();
    await worker.started();
    await until(() => sandbox.ledger().orders.length === 10, 'the budget of the first key is used');
    installation.configure((config) => {
      config.wholesale.keys = [keys.spare];
    });
    expect(await worker.reload()).toMatchObject({
      applied: ['wholesale.keys[].name', 'wholesale.keys[].value'],
    });
    installation.drop('b.ndjson', orders(10, 20));
    await until(() => sandbox.ledger().orders.length === 20, 'the second key is used');
    installation.configure((config) => {
      config.wholesale.keys = [keys.main, keys.spare];
    });
    await worker.reload();
    installation.drop('c.ndjson', orders(20, 40));
    await until(() => sandbox.ledger().orders.length === 40, 'both keys are used');
    const ledger = sandbox.ledger();
    expect(ledger.keys.map((key) => key.limited)).toEqual([0, 0, 0]);
    expect(ledger.keys.map((key) => key.max_orders_in_window)).toEqual([10, 10, 0]);
  });
});

describe('SIGHUP', () => {
  it('is refused with the messages of check-config when the file is invalid; the worker keeps its configuration', async () => {
    installation = await Installation.open();
    const worker = installation.start();
    await worker.started();
    expect((await health(worker)).checks['config']).toBe('pass');
    const good = readFileSync(installation.configFile, 'utf8');
    installation.configure((config) => {
      config.wholesale.keys.push({ name: 'main', value: 'sandbox-key-main' });
      config.log = { level: 'loud' };
    });
    const refused = await worker.reload();
    expect(refused).toMatchObject({
      level: 'error',
      msg: 'reload refused; the configuration in use stays',
    });
    const told = JSON.stringify(refused);
    expect(told).toContain('log.level');
    expect(told).toContain('is the same key as wholesale.keys.0');
    expect(told).not.toContain('sandbox-key-main');
    expect(await health(worker)).toMatchObject({ status: 'warn', checks: { config: 'warn' } });
    installation.drop('a.ndjson', orders(0, 1));
    await worker.line((line) => line.msg === 'result delivered');
    writeFileSync(installation.configFile, good);
    expect(await worker.reload()).toMatchObject({ msg: 'reloaded: nothing changed' });
    expect((await health(worker)).checks['config']).toBe('pass');
    expect(await worker.end('SIGTERM')).toBe(0);
  });

  it('changes the webhook endpoints: a new token is valid at once, and the address stays', async () => {
    const token = (value: string) => [{ name: 'shop', value }];
    installation = await Installation.open({
      webhook: { tokens: token('the-first-token-of-all') },
    });
    const worker = installation.start();
    const { webhook } = await worker.started();
    const post = async (bearer: string, id: number): Promise<number> => {
      const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' };
      const answer = await fetch(`http://${String(webhook)}/v1/orders`, {
        method: 'POST',
        headers,
        body: order(id),
      });
      return answer.status;
    };
    expect(await post('the-first-token-of-all', 1)).toBe(202);
    installation.configure((config) => {
      config.intake.webhook.tokens = token('the-second-token-of-all');
      config.intake.webhook.listen = '127.0.0.1:1';
    });
    expect(await worker.reload()).toMatchObject({
      applied: ['intake.webhook.tokens[].value'],
      need_restart: ['intake.webhook.listen'],
    });
    expect(await post('the-first-token-of-all', 2)).toBe(401);
    expect(await post('the-second-token-of-all', 3)).toBe(202);
    // With a SKU map that cannot be used, nothing is changed.
    installation.configure((config) => {
      config.intake.webhook.tokens = token('the-third-token-of-all');
      const secrets = [{ value: 'a-secret-of-the-shop' }];
      config.intake.webhook.shopify = [{ shop: 'main', secrets, sku_map: '/nowhere/skus.yaml' }];
    });
    expect(await worker.reload()).toMatchObject({ level: 'error' });
    expect(await post('the-second-token-of-all', 4)).toBe(202);
    expect(await post('the-third-token-of-all', 5)).toBe(401);
  });

  it('of a key is not prevented by a SKU map with a mistake', async () => {
    installation = await Installation.open({ sandbox: { accounts: [account] } });
    const skus = join(installation.folder, 'skus.yaml');
    writeFileSync(skus, 'skus: { A: { type: gift_card_order, variant: steam-usd-5 } }\n');
    installation.configure((config) => {
      const secrets = [{ value: 'a-secret-of-the-shop' }];
      config.intake.webhook = {
        listen: '127.0.0.1:0',
        shopify: [{ shop: 'main', secrets, sku_map: skus }],
      };
    });
    const worker = installation.start();
    await worker.started();
    writeFileSync(skus, 'skus: [\n');
    installation.configure((config) => {
      config.wholesale.keys[0].value = keys.next.value;
    });
    expect(await worker.reload()).toMatchObject({ applied: ['wholesale.keys[].value'] });
  });

  it('has a command that does the same, and exits with 3 when the reload is refused', async () => {
    installation = await Installation.open({
      limits: { window_ms: 60_000, requests: 60, orders: 20, transit_ms: 100 },
    });
    const worker = installation.start();
    installation.drop('a.ndjson', orders(0, 1));
    await worker.line((line) => line.msg === 'result delivered' && line['state'] === 'completed');
    const { configFile } = installation;
    const reload = () => runHere(['check-config', '--reload', '--json', '--config', configFile]);
    installation.configure((config) => {
      config.log = { level: 'debug' };
      config.submit.in_flight_window_ms = 400;
    });
    expect(JSON.parse((await reload()).stdout)).toEqual({
      applied: ['log.level'],
      need_restart: ['submit.in_flight_window_ms'],
      warnings: [],
    });
    const said = await runHere(['check-config', '--reload', '--config', configFile]);
    expect(said.stdout).toBe(
      'no key has changed that a reload can apply\nin use after a restart: submit.in_flight_window_ms\n',
    );
    // Only the worker can see this: a key value gets another name while it runs.
    installation.configure((config) => {
      config.wholesale.keys[0].name = 'primary';
    });
    const refused = await reload();
    expect(refused.code).toBe(3);
    expect(JSON.parse(refused.stderr).error).toMatchObject({ code: 'CONFIG_INVALID' });
    expect(refused.stderr).toContain('under which its budget is counted');
    expect(await worker.end('SIGTERM')).toBe(0);
    expect((await reload()).code).toBe(6);
  });

  it('names the settings that need a restart, each time, and applies the others', async () => {
    installation = await Installation.open();
    const worker = installation.start();
    await worker.started();
    installation.configure((config) => {
      config.submit.in_flight_window_ms = 400;
      config.log = { level: 'debug' };
      config.submit.concurrency = 7;
    });
    const expected = { level: 'warn', need_restart: ['submit.in_flight_window_ms'] };
    expect(await worker.reload()).toMatchObject({
      ...expected,
      applied: ['log.level', 'submit.concurrency'],
    });
    expect(await worker.reload()).toMatchObject({ ...expected, applied: [] });
  });

  it('never sends the keys for a new address to the old address', async () => {
    installation = await Installation.open({ sandbox: { accounts: [account] } });
    const worker = installation.start();
    await worker.started();
    installation.configure((config) => {
      config.wholesale.base_url = 'http://127.0.0.1:9/another';
      config.wholesale.keys[0].value = keys.next.value;
    });
    expect(await worker.reload()).toMatchObject({
      applied: [],
      need_restart: ['wholesale.base_url', 'wholesale.keys[].value'],
    });
    installation.drop('a.ndjson', orders(0, 1));
    await worker.line((line) => line.msg === 'result delivered');
    expect(installation.sandbox.ledger().keys.map((key) => key.requests_at.length > 0)).toEqual([
      true,
      false,
      false,
    ]);
  });

  it('reads a mounted secret whose folder is swapped as a whole, as Kubernetes does', async () => {
    installation = await Installation.open({ sandbox: { accounts: [account] } });
    installation.configure((config) => {
      config.wholesale.keys = [
        { name: 'main', value: `file:${join(installation?.folder ?? '', 'mount/wholesale_key')}` },
      ];
    });
    const mount = join(installation.folder, 'mount');
    const version = (name: string, key: string): void => {
      mkdirSync(join(mount, name), { recursive: true });
      writeFileSync(join(mount, name, 'worker.yaml'), readFileSync(installation?.configFile ?? ''));
      writeFileSync(join(mount, name, 'wholesale_key'), `${key}\n`);
      symlinkSync(name, join(mount, '..data_tmp'));
      renameSync(join(mount, '..data_tmp'), join(mount, '..data'));
    };
    version('..2026_11_21_1', keys.main.value);
    for (const name of ['worker.yaml', 'wholesale_key'])
      symlinkSync(join('..data', name), join(mount, name));
    const worker = installation.start([], join(mount, 'worker.yaml'));
    await worker.started();
    await installation.sandbox.operate((operator) => operator.revokeKey('acme', 'main'));
    installation.drop('a.ndjson', orders(0, 3));
    await worker.line((line) => line.msg === 'scope paused');
    version('..2026_11_21_2', keys.next.value);
    expect(await worker.reload()).toMatchObject({
      applied: ['wholesale.keys[].value'],
      need_restart: [],
    });
    await until(() => installation?.sandbox.ledger().orders.length === 3, 'the new key is used');
    await until(
      () => installation?.query("SELECT 1 FROM outbox WHERE state <> 'fulfilled'").length === 0,
      'all is bought',
    );
  });

  it('during the start of the worker is handled after the start', async () => {
    installation = await Installation.open();
    const worker = installation.start();
    await worker.line(() => true).catch(() => undefined);
    await worker.reload();
    await worker.started();
    expect(await worker.end('SIGTERM')).toBe(0);
  });
});
