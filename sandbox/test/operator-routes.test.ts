import { expect, it } from 'vitest';
import * as z from 'zod';
import { buyEsim, callerOf, esim, giftCard, operatorOf, startSandbox } from './running-sandbox.ts';

const answerSchema = z.looseObject({ number: z.string(), status: z.string() });
const clockSchema = z.looseObject({ now: z.number() });

/** A sandbox, a program of a shop, and the operator, whose requests succeed. */
async function running() {
  const sandbox = await startSandbox();
  const shop = callerOf(sandbox);
  const operator = operatorOf(sandbox);
  const trigger = async (path: string, body: object = {}): Promise<void> => {
    expect([path, (await operator.post(path, body)).status]).toEqual([path, 200]);
  };
  return { shop, operator, trigger };
}

it('delivers and refunds orders, and installs and expires eSIMs', async () => {
  const { shop, operator, trigger } = await running();
  const delayed = giftCard('later', { variant: 'test-delayed' });
  const pending = answerSchema.parse((await shop.post('/orders', delayed)).json);
  expect(pending.status).toBe('pending');
  await trigger(`/orders/${pending.number}/deliver`);
  expect((await shop.get('/orders/later')).json).toMatchObject({
    status: 'completed',
    codes: [{}],
  });
  await trigger(`/orders/${pending.number}/refund`);
  expect((await shop.get('/orders/later')).json).toMatchObject({ status: 'refunded', codes: [] });
  const [installed, expired] = [await buyEsim(shop, 'e1'), await buyEsim(shop, 'e2')];
  await trigger(`/esims/${installed}`, { event: 'install' });
  await trigger(`/esims/${expired}`, { event: 'expire' });
  expect((await shop.get(`/esim/esims/${installed}`)).json).toMatchObject({ state: 'installed' });
  expect((await shop.get(`/esim/esims/${expired}`)).json).toMatchObject({ state: 'expired' });
  const checked = await buyEsim(shop, 'e3');
  await trigger(`/esims/${checked}`, { event: 'fail_state_checks', times: 2 });
  const cancel = async (): Promise<number> =>
    (await shop.post(`/esim/esims/${checked}/cancel`)).status;
  expect([await cancel(), await cancel(), await cancel()]).toEqual([409, 409, 200]);
  const again = await operator.post(`/esims/${expired}`, { event: 'install' });
  expect([again.status, again.text]).toEqual([
    422,
    expect.stringContaining('is expired, which is final'),
  ]);
});

it('sells out, takes off sale, switches the API off, blocks an account, revokes a key', async () => {
  const { shop, operator, trigger } = await running();
  let number = 0;
  const buy = async (path: string, order: object): Promise<number> => {
    number += 1;
    return (await shop.post(path, { ...order, reference: `r${number}` })).status;
  };
  const card = (): Promise<number> => buy('/orders', giftCard(''));
  const plan = (): Promise<number> => buy('/esim/orders', esim(''));
  await trigger('/items/steam-usd-10', { stock: 0 });
  expect(await buy('/orders', giftCard('', { variant: 'steam-usd-10' }))).toBe(409);
  await trigger('/items/es-5gb-30d', { on_sale: false });
  expect(await plan()).toBe(422);
  await trigger('/items/es-5gb-30d', { on_sale: true });
  expect(await plan()).toBe(201);
  const maintain = (maintenance: boolean) =>
    operator.send('PATCH', '/settings', {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ maintenance }),
    });
  await maintain(true);
  expect(await card()).toBe(503);
  await maintain(false);
  expect(await card()).toBe(201);
  await trigger('/accounts/acme', { blocked: true });
  expect(await card()).toBe(403);
  await trigger('/accounts/acme', { blocked: false });
  expect(await card()).toBe(201);
  await trigger('/accounts/acme/keys/main/revoke');
  expect(await card()).toBe(401);
});

it('moves its clock forward, empties it, and sets it back', async () => {
  const { shop, operator, trigger } = await running();
  await shop.post('/orders', giftCard('shop-1', { variant: 'test-delayed' }));
  const now = async () => clockSchema.parse((await operator.get('/clock')).json).now;
  const before = await now();
  await trigger('/clock', { advance_ms: 7 * 86_400_000 });
  expect(await now()).toBeGreaterThanOrEqual(before + 7 * 86_400_000);
  expect((await shop.get('/orders/shop-1')).json).toMatchObject({ status: 'completed' });
  await trigger('/reset');
  expect((await shop.get('/orders/shop-1')).status).toBe(404);
  expect(await now()).toBeLessThan(before + 86_400_000);
});

it('says what does not exist', async () => {
  const { operator } = await running();
  for (const path of ['/orders/GC-1/refund', '/accounts/acme/keys/none/revoke'])
    expect((await operator.post(path)).status).toBe(404);
});
