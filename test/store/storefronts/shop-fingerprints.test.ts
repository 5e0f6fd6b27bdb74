import SqliteDatabase from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ShopIdentity } from '../../../src/core/shop-identity.ts';
import { line, Outbox } from '../../support/outbox.ts';

const day = 86_400_000;
const secret = 'a-secret-of-the-shop';

const shop = (
  source: string,
  values: Partial<Record<'name' | 'address' | 'secret', string>>,
): ShopIdentity => ({
  title: 'woocommerce "main"',
  source,
  fingerprints: (['name', 'address', 'secret'] as const).flatMap((kind) => {
    const value = values[kind];
    return value === undefined ? [] : [{ kind, value }];
  }),
});
const main = { name: 'woocommerce/main', address: 'shop.example', secret };

async function outboxWith(...shops: ShopIdentity[]) {
  const outbox = await Outbox.open();
  onTestFinished(() => outbox.close());
  const adopt = (nowMs: number, ...others: ShopIdentity[]) => {
    outbox.setTime(nowMs);
    return outbox.store.storefronts.adoptShops({ shops: others, nowMs });
  };
  await adopt(day, ...shops);
  return { outbox, adopt };
}

describe('a shop that comes under another source', () => {
  it.each([
    ['name', { name: 'woocommerce/main', address: 'new.example', secret: 'another-secret-of-it' }],
    [
      'address',
      { name: 'woocommerce/new', address: 'shop.example', secret: 'another-secret-of-it' },
    ],
    ['secret', { name: 'woocommerce/new', address: 'new.example', secret }],
  ])('is recognised by its %s, also after a restart', async (kind, values) => {
    const { outbox, adopt } = await outboxWith(shop('main', main));
    await outbox.reopen();
    await expect(adopt(2 * day, shop('new', values))).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining(`the shop with this ${kind} has the source "main"`),
      hint: expect.stringContaining('set source: main'),
    });
  });

  it('is refused together with the other shops of that configuration, and none of them is remembered', async () => {
    const { adopt } = await outboxWith(shop('main', main));
    const other = { name: 'shopify/outlet', secret: 'the-secret-of-the-outlet' };
    await expect(adopt(2 * day, shop('first', other), shop('new', main))).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
    });
    await expect(adopt(2 * day, shop('second', other))).resolves.toBeUndefined();
  });

  it('may change its name, address and secret while its source stays, and is then recognised by those, too', async () => {
    const { adopt } = await outboxWith(shop('main', main));
    const moved = {
      name: 'woocommerce/front',
      address: 'front.example',
      secret: 'the-next-secret-of-it',
    };
    await adopt(2 * day, shop('main', moved));
    for (const values of [main, moved]) {
      await expect(adopt(3 * day, shop('front', values))).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
      });
    }
  });

  it('counts as another shop 400 days after it was last configured', async () => {
    const { adopt } = await outboxWith(shop('main', main));
    await expect(adopt(401 * day, shop('new', main))).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
    });
    await adopt(401 * day + 1);
    await expect(adopt(401 * day + 2, shop('new', main))).resolves.toBeUndefined();
  });
});

it('the secret of a shop is not stored in the database', async () => {
  const { outbox } = await outboxWith(shop('main', main));
  const database = new SqliteDatabase(outbox.path, { readonly: true });
  onTestFinished(() => void database.close());
  const rows = database.prepare('SELECT kind, value FROM shop_fingerprints ORDER BY kind').all();
  expect(rows).toEqual([
    { kind: 'address', value: 'shop.example' },
    { kind: 'name', value: 'woocommerce/main' },
    { kind: 'secret', value: expect.stringMatching(/^[0-9a-f]{16}$/) },
  ]);
});

describe.each(['folder', 'token'] as const)('a %s that gets another source', (what) => {
  const caller = (source: string, value: string): ShopIdentity => ({
    title: 'form',
    source,
    fingerprints: [what === 'folder' ? { kind: 'address', value } : { kind: 'secret', value }],
    what,
  });

  it('is refused where its source has orders, with the line that keeps it', async () => {
    const { outbox, adopt } = await outboxWith(caller('old', 'one'));
    await outbox.accept([line({ source: 'old' })]);
    await outbox.reopen();
    await expect(adopt(2 * day, caller('new', 'one'))).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      hint: expect.stringContaining(what === 'folder' ? 'set source: old' : 'set sources: [old]'),
    });
    await adopt(3 * day, caller('old', 'one'));
  });

  it('is another shop with another path or value, and the same one during a rotation', async () => {
    const { outbox, adopt } = await outboxWith(caller('old', 'one'));
    await outbox.accept([line({ source: 'old' })]);
    await adopt(2 * day, caller('old', 'two'), caller('new', 'three'));
    await expect(adopt(3 * day, caller('new', 'two'))).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
    });
  });

  it('may correct a source that has no orders, and is known by the new one then', async () => {
    const { outbox, adopt } = await outboxWith(caller('old', 'one'));
    await adopt(2 * day, caller('new', 'one'));
    await outbox.accept([line({ source: 'new' })]);
    await expect(adopt(3 * day, caller('old', 'one'))).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
    });
  });

  it('is no shop that is connected', async () => {
    const { outbox } = await outboxWith(caller('old', 'one'));
    expect(await outbox.store.storefronts.connectedAt('old')).toBeNull();
  });
});
