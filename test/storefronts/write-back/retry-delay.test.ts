import { pino } from 'pino';
import { expect, it } from 'vitest';
import { SystemClock } from '../../../src/ops/system-clock.ts';
import { ShopConnections } from '../../../src/storefronts/shop-connections.ts';
import { ShopWriteBack } from '../../../src/storefronts/write-back.ts';
import { WriteBackError } from '../../../src/storefronts/shop/platform.ts';

const clock = new SystemClock();
const connections = new ShopConnections({ clock, version: '0.0.0' });
const store = { noteResult: async () => false };
const deps = {
  shop: () => null,
  store,
  connections,
  clock,
  logger: pino({ level: 'silent' }),
  retryTimeScale: 1,
};
const sink = new ShopWriteBack('woocommerce:main', deps);

it('waits for an earlier call as long as it may be processed, also where the schedule has come to hours', () => {
  const settles = new WriteBackError('settles', 'an earlier try may have posted it', 90_000);
  expect(sink.retryDelayMs(1, settles)).toBe(90_000);
  expect(sink.retryDelayMs(9, settles)).toBe(90_000);
  expect(sink.retryDelayMs(9, new WriteBackError('waits', 'on hold', 90_000))).toBe(10_800_000);
  expect(sink.retryDelayMs(14, settles)).toBe(90_000);
  expect(sink.retryDelayMs(14, new WriteBackError('waits', 'on hold', 90_000))).toBeNull();
});
