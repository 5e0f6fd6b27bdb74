import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { LoadedConfig } from '../../src/config/config.ts';
import { loadConfig } from '../../src/config/load.ts';
import { planReload, readUntilStable } from '../../src/config/reload-plan.ts';
import { certificates } from '../wholesale/transport/certificates.ts';
import { configKeys, isLive, type ConfigKey } from '../../src/config/schema-tree.ts';

/** A configuration in which every key of the schema can get another value. */
const full = `instance: acme
wholesale:
  environment: sandbox
  base_url: https://api.example.com/v1
  keys: [{ name: main, value: sk-main }]
intake:
  folders: [{ name: folder }]
  webhook:
    listen: 127.0.0.1:0
    tokens: [{ name: shop, value: a-token-of-the-shop }]
    standard_webhooks: [{ name: signed, secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYqr }]
    woocommerce:
      - shop: woo
        secrets: [{ value: a-secret-of-the-woo }]
        sku_map: skus.yaml
        rest: { url: https://woo.example.com, consumer_key: ck_1, consumer_secret: cs_1 }
    shopify:
      - shop: spf
        secrets: [{ value: a-secret-of-the-spf }]
        sku_map: skus.yaml
        rest: { url: https://spf.example.com, client_id: app, client_secret: shpss_1 }
results:
  callbacks: [{ name: shop, url: https://shop.example.com/results, sources: [shop], events: [order.settled], secrets: [{ value: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYqr }] }]
spend: { limits: [{ amount: 5000.00 USD, per: day, source: shop, product: steam-usd-5 }] }
alerts: [{ name: ops, url: https://hooks.example.com/T1 }]
admin: { tokens: [{ name: anna, role: operator, value: a-token-of-anna-0001 }] }
seal: { keys: [{ id: k1, value: AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= }] }
`;

/**
 * Other values for keys of text and for lists. Those of numbers and enums follow from the schema.
 */
const others: Record<string, string> = {
  listen: '127.0.0.1:1',
  base_url: 'https://other.example.com',
  shop_url: 'https://shop.example.com',
  ca_file: 'ca.pem',
  url: 'https://other.example.com/results',
  'results.callbacks[].secrets[].value': 'whsec_BBBB9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYqr',
  on: '[disk]',
  events: '[order.updated]',
  secret: 'whsec_AAAA9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYqr',
  group: String(process.getgid?.()),
  prefix: 'other',
  currency: 'EUR',
  amount: '4000.00 USD',
  balance_alerts: '[48 h]',
  fallback_currency: 'GBP',
  not_after: '2030-01-01T00:00:00Z',
  paid_statuses: '[completed]',
  columns: '{ order_id: Order }',
  sites: '[https://other.example.com]',
  'intake.folders[].format': 'etsy_orders',
  only: '{ Status: [paid] }',
  schedule: '0 * * * *',
  scopes: '[read]',
  sources: '[other]',
  to: '[ops@example.com]',
  from: 'ops@example.com',
  hosts: '[other.example.com]',
  wire: '{ lookup: { gift_card: off } }',
  sandbox: '{ seed: 7 }',
};

function otherValue({ path, node }: ConfigKey): string {
  if (path === 'seal.keys[].value') return 'BAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=';
  const name = path.split('.').at(-1) ?? '';
  const other = others[path] ?? others[name];
  if (other !== undefined) return other;
  if (node.type === 'boolean') return String(node.default !== true);
  if (node.enum !== undefined)
    return String(node.enum.find((value) => value !== (node.default ?? 'sandbox')));
  if (node.type === 'integer' || node.type === 'number') {
    const now = typeof node.default === 'number' ? node.default : (node.minimum ?? 0);
    return String(now < (node.maximum ?? now) ? now + 1 : now - 1);
  }
  return 'another-value-than-before';
}

const all = configKeys();
const leaves = all.filter(
  // `environment` has to stay a sandbox, because this file has secrets. A test below changes
  // `base_url` instead.
  ({ path, node }) =>
    path !== 'wholesale.environment' &&
    // Allowed in place of the credentials above only.
    !path.endsWith('.rest.access_token') &&
    node.properties === undefined &&
    node.items?.properties === undefined,
);
const pathOf = (path: string): (string | number)[] =>
  path.split('.').flatMap((part) => (part.endsWith('[]') ? [part.slice(0, -2), 0] : [part]));

/** One folder for all tests, because paths are part of a configuration. */
const cwd = mkdtempSync(join(tmpdir(), 'order-sync-reload-'));
writeFileSync(join(cwd, 'ca.pem'), certificates.good.cert);
afterAll(() => rmSync(cwd, { recursive: true }));
function read(text: string, environment: Record<string, string> = {}): LoadedConfig {
  writeFileSync(join(cwd, 'c.yaml'), text);
  return loadConfig({ file: 'c.yaml', cwd, environment });
}
const running = read(full);

/**
 * The whole configuration with another value of one key. A variable sets it, because a secret must
 * not be a flag.
 */
function changed(key: ConfigKey): LoadedConfig {
  const name = `ORDER_SYNC__${pathOf(key.path).join('__').toUpperCase()}`;
  return read(full, { [name]: otherValue(key) });
}

describe('the plan of a reload', () => {
  it.each(leaves.map((key) => [key.path, key] as const))(
    'applies a change of %s, or names it as one that needs a restart',
    (path, key) => {
      const before = running;
      const next = changed(key);
      expect(next.digests).not.toEqual(before.digests);
      const plan = planReload(before, next);
      const live = isLive(pathOf(path));
      const named = live ? plan.applied : plan.needRestart;
      expect(named.filter((name) => name.startsWith(path))).not.toEqual([]);
      expect(live ? plan.needRestart : plan.applied).toEqual([]);
      // The mark in the schema agrees with the configuration that results.
      expect(plan.config).toEqual(live ? next.config : before.config);
      // The next reload names the keys that need a restart again, and no applied key.
      const again = planReload(plan, next);
      expect({ applied: again.applied, needRestart: again.needRestart }).toEqual({
        applied: [],
        needRestart: plan.needRestart,
      });
    },
  );

  it('applies no key of another API, and no key of a webhook section that was added or removed', () => {
    const elsewhere = read(
      full.replace('api.example.com', 'else.example.com').replace('sk-main', 'sk-other'),
    );
    expect(planReload(running, elsewhere)).toMatchObject({
      applied: [],
      needRestart: ['wholesale.base_url', 'wholesale.keys[].value'],
      config: running.config,
    });
    const closed = read(full.replace(/intake:[\s\S]*results:/, 'results:'));
    const plan = planReload(running, closed);
    expect(plan.applied).toEqual([]);
    expect(plan.config).toEqual(running.config);
  });

  it('notices a secret that changed in its file, without showing it', () => {
    const text = full.replace('value: sk-main', 'value: file:key');
    writeFileSync(join(cwd, 'key'), 'sk-before\n');
    const before = read(text);
    writeFileSync(join(cwd, 'key'), 'sk-next\n');
    const after = read(text);
    const plan = planReload(before, after);
    expect(plan).toMatchObject({ applied: ['wholesale.keys[].value'], needRestart: [] });
    expect(plan.config.wholesale.keys).toMatchObject([{ name: 'main', value: 'sk-next' }]);
    expect(JSON.stringify([...after.digests])).not.toContain('sk-next');
  });
});

describe('reading the configuration for a reload', () => {
  it('repeats until two readings agree, so it never applies a mix of old and new files', () => {
    const next = full.replace('sk-main', 'sk-next');
    const readings = [full, next, next];
    const steady = readUntilStable(() =>
      read(readings.shift() ?? 'instance: "read more often than needed"'),
    );
    expect(steady.config.wholesale.keys[0]?.value).toBe('sk-next');
  });

  it('is repeated once when it fails, and ends after five readings that all differ', () => {
    let failures = 1;
    expect(
      readUntilStable(() => {
        if (failures > 0) {
          failures -= 1;
          throw new Error('missing for a moment');
        }
        return running;
      }),
    ).toBe(running);
    let count = 0;
    const changing = () => {
      count += 1;
      return { ...running, digests: new Map([['log.level', String(count)]]) };
    };
    expect(() => readUntilStable(changing)).toThrow('kept changing');
    expect(count).toBe(5);
  });
});
