import { describe, expect, it } from 'vitest';
import { load, minimal, mistakesOf } from './config-file.ts';

const sandbox = minimal.replace('wholesale:', 'wholesale:\n  environment: sandbox');
const shopOf = (platform: string, rest: string, base = sandbox): string =>
  `${base}intake:\n  webhook: { listen: "127.0.0.1:0", ${platform}: [{ shop: main, sku_map: x, secrets: [{ value: a-secret-that-is-long }], rest: { ${rest} } }] }\n`;
const wooKeys = 'consumer_key: ck_1, consumer_secret: cs_1';

describe('the configuration of read-back', () => {
  it('needs only the address and the keys of the shop', () => {
    const { config } = load(shopOf('woocommerce', `url: "https://shop.example.com/", ${wooKeys}`));
    expect(config.intake.shops).toMatchObject([
      {
        platform: 'woocommerce',
        shop: 'main',
        source: 'main',
        lookbackH: 0,
        rest: {
          url: 'https://shop.example.com',
          schedule: '*/5 * * * *',
          overlapS: 300,
          pageSize: 100,
          pagesPerRun: 50,
          bodyBytes: 16_777_216,
          timeouts: { connectMs: 5000, totalMs: 60_000 },
          consumerKey: 'ck_1',
          consumerSecret: 'cs_1',
        },
      },
    ]);
  });

  it('accepts a token or the credentials of an app for Shopify', () => {
    const accessOf = (rest: string) => {
      const [shop] = load(shopOf('shopify', `url: "https://s.myshopify.com", ${rest}`)).config
        .intake.shops;
      return shop?.platform === 'shopify' ? shop.rest?.access : null;
    };
    expect(accessOf('access_token: shpat_1')).toEqual({ kind: 'token', token: 'shpat_1' });
    const credentials = { kind: 'credentials', clientId: 'app', clientSecret: 'shpss_1' };
    expect(accessOf('client_id: app, client_secret: shpss_1')).toEqual(credentials);
  });

  it('reads keys from files and variables, but not from a config file in production', () => {
    const rest = 'url: "https://shop.example.com", consumer_key: file:key';
    const variable = 'ORDER_SYNC__INTAKE__WEBHOOK__WOOCOMMERCE__0__REST__CONSUMER_SECRET';
    const secret = 'ORDER_SYNC__INTAKE__WEBHOOK__WOOCOMMERCE__0__SECRETS__0__VALUE';
    const yaml = shopOf('woocommerce', rest, minimal).replace(
      'secrets: [{ value: a-secret-that-is-long }]',
      'secrets: [{}]',
    );
    const environment = { [variable]: 'cs_from_outside', [secret]: 'a-secret-that-is-long' };
    const [shop] = load(yaml, { environment }).config.intake.shops;
    expect(shop?.rest).toMatchObject({ consumerKey: 'sk-main', consumerSecret: 'cs_from_outside' });
    const mistakes = mistakesOf(
      shopOf('woocommerce', `url: "https://shop.example.com", ${wooKeys}`, minimal),
    ).join('\n');
    expect(mistakes).toMatch(/rest\.consumer_key is a secret and must not be in a config file/);
    expect(mistakes).not.toContain('cs_1');
  });

  it.each([
    ['has no keys', 'woocommerce', 'url: "https://shop.example.com"', 'consumer_key is required'],
    [
      'would send keys unencrypted',
      'woocommerce',
      `url: "http://shop.example.com", ${wooKeys}`,
      'must be https',
    ],
    [
      'has a schedule that is no cron expression',
      'woocommerce',
      `url: "https://a.example", schedule: "every day", ${wooKeys}`,
      'must be a cron expression',
    ],
    [
      'has no access to Shopify',
      'shopify',
      'url: "https://a.example"',
      'must have either an `access_token`',
    ],
    [
      'has incomplete access to Shopify',
      'shopify',
      'url: "https://a.example", client_id: app',
      'must have either an `access_token`',
    ],
    [
      'has two kinds of access to Shopify',
      'shopify',
      'url: "https://a.example", access_token: t, client_id: a, client_secret: b',
      'must have either an `access_token`',
    ],
  ])('prevents the start when it %s', (_, platform, rest, problem) => {
    expect(mistakesOf(shopOf(platform, rest)).join('\n')).toContain(problem);
  });

  it('allows http on this machine', () => {
    expect(mistakesOf(shopOf('woocommerce', `url: "http://127.0.0.1:8088", ${wooKeys}`))).toEqual(
      [],
    );
  });
});
