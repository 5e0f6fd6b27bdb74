import { createServer } from 'node:net';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { load, minimal, mistakesOf } from '../../config/config-file.ts';
import { startIntake } from './running-intake.ts';
import { startShops } from '../../storefronts/storefront-shops.ts';

const sandbox = minimal.replace('wholesale:', 'wholesale:\n  environment: sandbox');
const webhook = (yaml: string): string =>
  `${sandbox}intake:\n  webhook: { listen: "127.0.0.1:0", ${yaml} }\n`;
const token = (name: string, value: string, more = ''): string =>
  `{ name: ${name}, value: "${value}"${more} }`;
const good = 'a-token-that-is-long';

describe('the configuration of the HTTP intake', () => {
  it('makes the worker listen only when the section is present', () => {
    expect(load(minimal).config.intake.webhook).toBeNull();
    const { config } = load(webhook(`tokens: [${token('shop', good, ', sources: [shop1]')}]`));
    expect(config.intake.webhook).toMatchObject({
      listen: { host: '127.0.0.1', port: 0 },
      tokens: [
        {
          name: 'shop',
          secrets: [good],
          scopes: ['post', 'read', 'cancel'],
          sources: ['shop1'],
        },
      ],
      limits: { bodyBytes: 1_048_576, batchLines: 1000 },
    });
  });

  it.each([
    ['accepts no caller', 'limits: {}', 'accepts no caller: set at least one of tokens'],
    [
      'has a token that can be guessed',
      `tokens: [${token('a', 'short')}]`,
      'must have at least 16 characters',
    ],
    [
      'has one token for two callers',
      `tokens: [${token('a', good)}, ${token('b', good)}]`,
      'is also the secret of another entry',
    ],
    [
      'has two callers of one name',
      `tokens: [${token('a', good)}], standard_webhooks: [{ name: a, secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw }]`,
      'must differ from the other names',
    ],
    [
      'has a secret that is no whsec',
      'standard_webhooks: [{ name: a, secret: "0123456789abcdef0123" }]',
      'must be whsec_ followed by base64',
    ],
    [
      'has a whsec that is too short',
      'standard_webhooks: [{ name: a, secret: "whsec_c2hvcnQ=" }]',
      'must be whsec_ followed by base64',
    ],
    [
      'has a shop without a secret',
      'shopify: [{ shop: a, secrets: [], sku_map: x }]',
      'must be a list of at least 1',
    ],
    [
      'has two shops with the same source',
      `woocommerce: [{ shop: a, sku_map: x, secrets: [{ value: "${good}" }] }], shopify: [{ shop: a, sku_map: x, secrets: [{ value: "${good}2" }] }]`,
      "must differ from the other shops' sources",
    ],
    [
      'has shops that share a secret',
      `shopify: [{ shop: a, sku_map: x, secrets: [{ value: "${good}" }] }, { shop: b, sku_map: x, secrets: [{ value: "${good}" }] }]`,
      'is also the secret of another entry',
    ],
  ])('stops the start when it %s, and the message shows no secret', (_, yaml, problem) => {
    const mistakes = mistakesOf(webhook(yaml)).join('\n');
    expect(mistakes).toContain(problem);
    expect(mistakes).not.toContain(good);
  });

  it('may not contain secrets in a config file in production', () => {
    const yaml = `${minimal}intake: { webhook: { listen: "127.0.0.1:0", tokens: [${token('a', good)}] } }`;
    expect(mistakesOf(yaml).join()).toContain('is a secret and must not be in a config file');
  });
});

describe('a start of the HTTP intake that fails', () => {
  it('names the address that is in use, and the key that changes it', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const address = other.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    await expect(
      startIntake({ config: { listen: { host: '127.0.0.1', port } } }),
    ).rejects.toMatchObject({
      code: 'LISTEN_FAILED',
      hint: expect.stringContaining('intake.webhook.listen'),
    });
    other.close();
  });

  it('names the reason why a SKU map cannot be read', async () => {
    const started = startShops({ woo: { skuMap: '/nowhere/skus.yaml' } });
    await expect(started).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('ENOENT'),
    });
  });
});
