import { stepsOf } from '../../support/steps.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { KeyBackOff } from '../../../src/store/wholesale-keys.ts';
import { close, fulfilled, line, nothing, Outbox } from '../../support/outbox.ts';
import { rows } from '../../support/operator.ts';

let box: Outbox;
beforeEach(async () => {
  box = await Outbox.open();
});
afterEach(() => box.close());

const adopt = (keys: Record<string, string>, whileRunning = false) =>
  box.store.adoptKeys({
    keys: Object.entries(keys).map(([name, value]) => ({ name, value })),
    nowMs: 50_000,
    whileRunning,
  });

/** One order, bought with this key: a slot of both limits is held. */
async function buyWith(keyName: string, orderId: string): Promise<void> {
  await box.accept([line({ orderId })]);
  await stepsOf(box.store).closeAttempt(close(await box.opened({ keyName }), fulfilled));
}

const slots = async (): Promise<string[]> =>
  (await stepsOf(box.store).budget.restoreSlots(7000)).map(({ keyName, limitName }) =>
    [keyName, limitName].join(' '),
  );

const pause = (scope: string, probeAtMs: number | null = 900_000) => ({
  scope,
  reason: 'invalid_key',
  message: 'wrong key',
  openedBy: 'worker',
  probeAtMs,
  nowMs: 4000,
});
const probes = async (): Promise<Record<string, number | null>> =>
  Object.fromEntries(
    (await box.store.pauses.all()).map(({ scope, probeAtMs }) => [scope, probeAtMs]),
  );

const rest: KeyBackOff = {
  keyName: 'main',
  blockedUntilMs: 8000,
  throttledUntilMs: 900_000,
  throttleLengthMs: 890_000,
};

describe('the keys of the configuration', () => {
  it('are stored as fingerprints only, never with their value', async () => {
    await adopt({ main: 'sk-very-secret' });
    const found = rows<{ value_fingerprint: string }>(box, 'SELECT * FROM wholesale_keys');
    expect(JSON.stringify(found)).not.toContain('secret');
    expect(found[0]?.value_fingerprint).toMatch(/^[0-9a-f]{16}$/);
  });

  it('keep the slots of their value under another name after a restart, also when two names are exchanged', async () => {
    await adopt({ main: 'A', spare: 'B' });
    await buyWith('main', '1');
    await box.reopen();
    await adopt({ primary: 'A', spare: 'B' });
    expect(await slots()).toEqual(['primary requests', 'primary orders']);
    await adopt({ primary: 'B', spare: 'A' });
    expect(await slots()).toEqual(['spare requests', 'spare orders']);
  });

  it('keep the slots of their name when the value is new', async () => {
    await adopt({ main: 'A' });
    await buyWith('main', '1');
    expect(await adopt({ main: 'B' }, true)).toEqual({ replaced: ['main'] });
    expect(await slots()).toEqual(['main requests', 'main orders']);
  });

  it('cannot change their names while the worker runs: that is refused, and nothing changes', async () => {
    await adopt({ main: 'A' });
    await buyWith('main', '1');
    await box.store.pauses.open(pause('key:main'));
    await expect(adopt({ primary: 'A' }, true)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    expect(await slots()).toEqual(['main requests', 'main orders']);
    expect(await probes()).toEqual({ 'key:main': 900_000 });
    // Also after it was removed for a while, as long as slots of its budget are held.
    await adopt({ other: 'C' }, true);
    await expect(adopt({ primary: 'A', other: 'C' }, true)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
    });
    expect(await adopt({ main: 'A', other: 'C' }, true)).toEqual({ replaced: [] });
  });

  it('are taken up with the shops and the sinks, or nothing of these is', async () => {
    await adopt({ main: 'A' });
    await buyWith('main', '1');
    const facts = (): unknown => [
      rows(box, 'SELECT source, kind FROM shop_fingerprints'),
      rows(box, 'SELECT sink FROM deliveries WHERE given_up_at_ms IS NOT NULL'),
    ];
    const shops = [
      { title: 'main', source: 'new', fingerprints: [{ kind: 'name', value: 'woocommerce main' }] },
    ] as const;
    const config = { shops, sinks: [{ name: 'callback', sources: null }], nowMs: 60_000 };
    const before = facts();
    const renamed = { ...config, keys: [{ name: 'primary', value: 'A' }] };
    await expect(box.store.adoptConfig(renamed)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    expect(facts()).toEqual(before);
    const done = await box.store.adoptConfig({ ...config, keys: [{ name: 'main', value: 'A' }] });
    expect(done).toEqual({ replaced: [], givenUp: 1 });
    expect(facts()).toEqual([[{ source: 'new', kind: 'name' }], [{ sink: 'folder' }]]);
  });

  it('may change their names while no slot of their budget is held', async () => {
    await adopt({ main: 'A' });
    expect(await adopt({ primary: 'A' }, true)).toEqual({ replaced: [] });
  });

  it('have their pauses probed at once when their value changed, and only then', async () => {
    await adopt({ main: 'A', spare: 'B' });
    for (const scope of ['key:main', 'key:spare', 'account', 'balance:USD'])
      await box.store.pauses.open(pause(scope));
    await adopt({ main: 'A', spare: 'B' });
    expect(Object.values(await probes())).toEqual([900_000, 900_000, 900_000, 900_000]);
    await adopt({ main: 'C', spare: 'B' }, true);
    expect(await probes()).toEqual({
      account: 0,
      'balance:USD': 900_000,
      'key:main': 0,
      'key:spare': 900_000,
    });
  });

  it('end the pauses of the worker when they are removed, but not those of an operator', async () => {
    await adopt({ main: 'A', spare: 'B', third: 'C' });
    await box.store.pauses.open(pause('key:main'));
    await box.store.operator.pauseScope({
      scope: 'key:spare',
      actor: 'cli:anna',
      reason: 'stocktaking',
      nowMs: 5000,
    });
    await adopt({ third: 'C' }, true);
    expect(await probes()).toEqual({ 'key:spare': null });
    expect(box.auditLog().at(-1)).toMatchObject({
      subject: 'key:main',
      reason: 'the key is not configured any more',
    });
  });
});

describe('the back-off of a key', () => {
  const rateLimit = async (orderId: string): Promise<void> => {
    await box.accept([line({ orderId })]);
    const attempt = await box.opened();
    await stepsOf(box.store).closeAttempt(
      close(attempt, { ...nothing, state: 'waiting' }, { backOff: rest, steadyMs: 1000 }),
    );
  };

  it('is on disk with the rate-limited attempt, and holds for the next process', async () => {
    await rateLimit('1');
    await box.reopen();
    expect(await stepsOf(box.store).budget.restoreBackOffs()).toEqual([rest]);
  });

  it('belongs to the value of the key: it ends with the value, and moves with it to another name', async () => {
    await adopt({ main: 'A', spare: 'B' });
    await rateLimit('1');
    await adopt({ main: 'B', spare: 'A' });
    expect(await stepsOf(box.store).budget.restoreBackOffs()).toEqual([
      { ...rest, keyName: 'spare' },
    ]);
    await adopt({ main: 'B', spare: 'C' });
    expect(await stepsOf(box.store).budget.restoreBackOffs()).toEqual([]);
  });
});
