import { expect, it, onTestFinished } from 'vitest';
import { healthChecks } from '../../src/admin/health-checks.ts';
import type { Store } from '../../src/store/store.ts';
import { sealKey } from '../support/seal-keys.ts';
import { Outbox } from '../support/outbox.ts';

const checksOf = (store: Store, isSandbox: boolean, clock = { steadyMs: () => 0 }) =>
  healthChecks(
    {
      store,
      disk: { hasSpace: async () => true },
      progress: { health: () => 'pass' },
      folders: [],
      webhook: null,
      submission: { apiClock: { read: () => ({ verdict: 'unknown', aheadMs: null }) } },
    },
    null,
    { isSandbox, clock },
  );

it('warns while codes of production are stored in clear', async () => {
  const outbox = await Outbox.open();
  onTestFinished(() => outbox.close());
  const sealing = async (isSandbox: boolean) => {
    const check = checksOf(outbox.store, isSandbox).find(({ name }) => name === 'sealing');
    return [await check?.check(), check?.details?.()];
  };
  expect(await sealing(true)).toEqual(['pass', null]);
  expect(await sealing(false)).toEqual([
    'warn',
    expect.objectContaining({ reason: expect.stringContaining('unencrypted') }),
  ]);
  await outbox.reopen([sealKey('k1')]);
  expect(await sealing(false)).toEqual(['pass', null]);
});

it('counts the first rows of a long attention list, and says that there are more', async () => {
  const outbox = await Outbox.open();
  onTestFinished(() => outbox.close());
  let steadyMs = 0;
  const checks = checksOf(outbox.store, true, { steadyMs: () => steadyMs });
  const check = checks.find(({ name }) => name === 'attention');
  const refuse = async (from: number, count: number) => {
    const rejections = Array.from({ length: count }, (_, index) => ({
      lineNumber: index,
      source: 'shop1',
      orderId: String(from + index),
      lineId: '1',
      code: 'invalid_field',
      field: 'quantity',
      rule: 'must be at least 1',
      value: '0',
    }));
    await outbox.store.intake.acceptBatch({ nowMs: 1000, fileId: null, lines: [], rejections });
  };
  expect([await check?.check(), check?.details?.()]).toEqual(['pass', null]);
  await refuse(0, 10_000);
  // What was read last is shown for a second.
  expect(check?.details?.()).toBeNull();
  steadyMs = 1000;
  expect([await check?.check(), check?.details?.()]).toEqual(['warn', { invalid_line: 10_000 }]);
  await refuse(10_000, 5);
  steadyMs = 2000;
  expect(check?.details?.()).toEqual({ invalid_line: 10_001, more: true });
});
