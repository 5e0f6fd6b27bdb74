import { execFileSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { Installation, projectRoot } from '../../support/worker-process.ts';

/** The lines by which CONTRIBUTING.md registers a platform: one in each list, with its import. */
const registrations = [
  {
    file: 'settings.ts',
    imports: "import { stallSettings } from './stall/settings.ts';",
    after: 'export const platformSettings = {',
    entry: '  stall: stallSettings,',
  },
  {
    file: 'platforms.ts',
    imports: "import { stall } from './stall/platform.ts';",
    after: '  woocommerce,',
    entry: '  stall,',
  },
];

/** A copy of the program that has the platform of this folder, and nothing else that is new. */
function programWithStall(): string {
  const copy = mkdtempSync(join(tmpdir(), 'order-sync-third-platform-'));
  onTestFinished(() => rmSync(copy, { recursive: true }));
  for (const name of ['bin', 'src', 'sandbox', 'config', 'package.json', 'tsconfig.json'])
    cpSync(join(projectRoot, name), join(copy, name), { recursive: true });
  symlinkSync(join(projectRoot, 'node_modules'), join(copy, 'node_modules'));
  const storefronts = join(copy, 'src/storefronts');
  const ours = readdirSync(import.meta.dirname).filter((name) => !name.endsWith('.test.ts'));
  for (const name of ours) {
    const path = join(storefronts, 'stall', name);
    cpSync(join(import.meta.dirname, name), path);
    const text = readFileSync(path, 'utf8')
      .replaceAll("'../../../src/storefronts/", "'../")
      .replaceAll("'../../../src/", "'../../");
    writeFileSync(path, text);
  }
  for (const { file, imports, after, entry } of registrations) {
    const path = join(storefronts, file);
    const text = readFileSync(path, 'utf8');
    expect(text.split(after)).toHaveLength(2);
    writeFileSync(path, `${imports}\n${text.replace(after, `${after}\n${entry}`)}`);
  }
  return copy;
}

type StallOrder = Record<string, unknown> & { readonly id: number };

const orderOf = (id: number): StallOrder => {
  const paidAt = new Date().toISOString();
  const goods = [{ id: id * 10, code: 'STEAM-5', count: 1 }];
  return { id, paid_at: paidAt, changed_at: paidAt, goods };
};

/** The API of a stall with these orders. */
async function openStall(orders: Map<string, StallOrder>): Promise<string> {
  const server = createServer((request, response) => {
    const answer = async (): Promise<unknown> => {
      const [, id] = /^\/orders\/(\d+)$/.exec(request.url ?? '') ?? [];
      if (id === undefined) return [...orders.values()];
      const order = orders.get(id);
      if (request.method === 'PUT' && order !== undefined)
        Object.assign(order, await json(request));
      return order;
    };
    void answer().then((value) => {
      response.writeHead(value === undefined ? 404 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(value ?? {}));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  return typeof address === 'object' ? `http://127.0.0.1:${address?.port}` : '';
}

it('a platform that is only a folder and a line in each list is type-correct, read, bought and written back', async () => {
  const program = programWithStall();
  const types = ['node_modules/typescript/bin/tsc', '--noEmit', '--project', 'types.json'];
  writeFileSync(
    join(program, 'types.json'),
    JSON.stringify({ extends: './tsconfig.json', include: ['src'] }),
  );
  execFileSync(process.execPath, types, { cwd: program, stdio: 'inherit' });

  const orders = new Map([['5', orderOf(5)]]);
  const secret = 'secret-of-the-stall';
  const url = await openStall(orders);
  const installation = await Installation.open();
  onTestFinished(() => installation.close());
  const skuMap = join(installation.folder, 'skus.yaml');
  writeFileSync(skuMap, 'skus: { STEAM-5: { type: gift_card_order, variant: steam-usd-5 } }\n');
  installation.configure((config) => {
    const stall = {
      shop: 'main',
      secrets: [{ value: secret }],
      sku_map: skuMap,
      lookback_h: 1,
      rest: { url, token: 'token-of-the-stall' },
      write_back: { mark: 'delivered' },
    };
    config.intake.webhook = { listen: '127.0.0.1:0', stall: [stall] };
  });
  const worker = installation.start([], installation.configFile, program);
  const { webhook } = await worker.started();
  const isWritten = (id: string) => () => orders.get(id)?.['mark'] === 'delivered';
  // No webhook brought this one.
  await expect.poll(isWritten('5')).toBe(true);

  orders.set('6', orderOf(6));
  const body = JSON.stringify(orders.get('6'));
  const signature = createHmac('sha256', secret).update(body).digest('base64');
  const answer = await fetch(`http://${String(webhook)}/webhooks/stall/main`, {
    method: 'POST',
    headers: { 'x-stall-signature': signature },
    body,
  });
  expect(await answer.json()).toMatchObject({ result: 'paid', order_id: '6', accepted: 1 });
  await expect.poll(isWritten('6')).toBe(true);
  // Its file is written beside the order of the shop.
  const results = () => [...installation.results()].map(([name, { state }]) => `${name} ${state}`);
  await expect.poll(results).toEqual(['main/5 completed', 'main/6 completed']);
  expect(installation.sandbox.ledger().orders).toHaveLength(2);
  expect(await worker.end('SIGTERM')).toBe(0);
});
