import { expect, it, onTestFinished } from 'vitest';
import { Outbox } from '../support/outbox.ts';

it('a watermark of a storefront moves forward only, is kept across a restart, and belongs to one source', async () => {
  const outbox = await Outbox.open();
  onTestFinished(() => outbox.close());
  const at = (source: string) => outbox.store.storefrontWatermark(source);
  const to = (source: string, modifiedMs: number) =>
    outbox.store.advanceStorefrontWatermark({ source, modifiedMs, nowMs: 1 });
  expect(await at('a')).toBeNull();
  await to('a', 2000);
  await to('a', 1000);
  await to('b', 500);
  await outbox.reopen();
  expect([await at('a'), await at('b'), await at('c')]).toEqual([2000, 500, null]);
});
