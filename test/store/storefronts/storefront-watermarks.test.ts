import { expect, it, onTestFinished } from 'vitest';
import { Outbox } from '../../support/outbox.ts';

it('the watermark of a source moves back only from the future, and survives a restart', async () => {
  const outbox = await Outbox.open();
  onTestFinished(() => outbox.close());
  const at = (source: string) => outbox.store.storefronts.watermark(source);
  const to = (source: string, modifiedMs: number) =>
    outbox.store.storefronts.advanceWatermark({ source, modifiedMs });
  expect(await at('a')).toBeNull();
  await to('a', 2000);
  await to('a', 1000);
  await to('b', 500);
  expect(await outbox.store.storefronts.lowerWatermark({ source: 'b', presentMs: 600 })).toBe(
    false,
  );
  expect(await outbox.store.storefronts.lowerWatermark({ source: 'a', presentMs: 1900 })).toBe(
    true,
  );
  await outbox.reopen();
  expect([await at('a'), await at('b'), await at('c')]).toEqual([1900, 500, null]);
});
