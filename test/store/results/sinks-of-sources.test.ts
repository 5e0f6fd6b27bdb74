import { stepsOf } from '../../support/steps.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { close, fulfilled, line, Outbox } from '../../support/outbox.ts';

let outbox: Outbox;
beforeEach(async () => {
  outbox = await Outbox.open([
    { name: 'folder', sources: null },
    { name: 'woocommerce:main', sources: ['main'] },
  ]);
});
afterEach(() => outbox.close());

test('a result is due at the sinks of its source only', async () => {
  await outbox.accept([
    line({ source: 'main', orderId: '1' }),
    line({ source: 'outlet', orderId: '2' }),
  ]);
  await stepsOf(outbox.store).closeAttempt(close(await outbox.opened(), fulfilled));
  await stepsOf(outbox.store).closeAttempt(close(await outbox.opened(), fulfilled));
  const dueAt = async (sink: string): Promise<readonly string[]> => {
    const due = await outbox.store.results.dueDeliveries(sink, 5000, 10);
    return due.map(({ document }) => document.source).toSorted();
  };
  expect(await dueAt('folder')).toEqual(['main', 'outlet']);
  expect(await dueAt('woocommerce:main')).toEqual(['main']);
});
