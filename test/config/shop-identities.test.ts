import { expect, it } from 'vitest';
import { shopIdentities } from '../../src/config/shop-identities.ts';
import { load, minimal } from './config-file.ts';

// A sandbox, because only there may the file have secrets.
const sandbox = minimal.replace(
  'https://api.example.com/v1',
  'http://127.0.0.1:1\n  environment: sandbox',
);
const config = `${sandbox}intake:
  webhook:
    listen: 127.0.0.1:0
    tokens:
      - { name: form, value: a-token-of-ours-it-is }
      - { name: form, value: the-next-token-of-it }
      - { name: other, value: a-token-of-several, sources: [one, two] }
    woocommerce:
      - shop: main
        secrets: [{ value: the-secret-of-main-1 }, { value: the-secret-of-main-2 }]
        sku_map: skus.yaml
        rest: { url: "https://Shop.example.com/store/", consumer_key: a-consumer-key-of-it, consumer_secret: a-consumer-secret-of }
    shopify:
      - shop: outlet
        source: europe
        secrets: [{ value: the-secret-of-outlet }]
        sku_map: skus.yaml
        rest: { url: "https://outlet.myshopify.com", access_token: an-access-token-of-it }
      - shop: kiosk
        secrets: [{ value: the-secret-of-kiosk-1 }]
        sku_map: skus.yaml
`;

it('identifies a shop by its name, its address and a secret that is its own, a folder by its path, and a token that names the source by its value', () => {
  const { config: loaded } = load(config);
  const text = shopIdentities(loaded).map(({ title, source, fingerprints }) => {
    return [title, source, ...fingerprints.map(({ kind, value }) => `${kind} ${value}`)].join(
      ' | ',
    );
  });
  expect(text).toEqual([
    'woocommerce "main" | main | name woocommerce/main | address shop.example.com/store | secret the-secret-of-main-1 | secret the-secret-of-main-2',
    // The secret of a Shopify app signs for every shop that has installed it.
    'shopify "outlet" | europe | name shopify/outlet | address outlet.myshopify.com',
    'shopify "kiosk" | kiosk | name shopify/kiosk | secret the-secret-of-kiosk-1',
    expect.stringMatching(/^\/.*\/inbox \| folder \| address folder:\/.*\/inbox$/),
    '"form" | form | secret a-token-of-ours-it-is | secret the-next-token-of-it',
  ]);
});

it('identifies no shop without an intake over HTTP', () => {
  expect(shopIdentities(load(minimal).config).filter(({ what }) => what === undefined)).toEqual([]);
});
