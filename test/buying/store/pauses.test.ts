import { stepsOf } from '../../support/steps.ts';
import { afterEach, describe, expect, it } from 'vitest';
import type { AcceptableLine } from '../../../src/core/order/order-request.ts';
import { close, line, nothing, Outbox } from '../../support/outbox.ts';

let outbox: Outbox | null = null;
afterEach(async () => {
  await outbox?.close();
  outbox = null;
});

async function withLines(...lines: Partial<AcceptableLine>[]): Promise<Outbox> {
  outbox = await Outbox.open();
  await outbox.accept(lines.map((each, index) => line({ orderId: String(index), ...each })));
  return outbox;
}

const person = (scope: string) => ({
  scope,
  actor: 'cli:anna',
  reason: 'stocktaking',
  nowMs: 5000,
});
const worker = (scope: string) => ({
  scope,
  reason: 'insufficient_balance',
  message: 'too low',
  openedBy: 'worker',
  probeAtMs: 9000,
  nowMs: 4000,
});
const esim = { operation: 'esim_order', variant: null, plan: 'es-1' } as const;

describe('a scope that an operator paused', () => {
  it.each([
    { scope: 'account', stopped: {} },
    { scope: 'key:main', stopped: {} },
    { scope: 'balance:USD', stopped: {} },
    // It could be charged to the other balance, but an operator paused this one.
    { scope: 'balance:USD', stopped: { rules: { fallback_currency: 'EUR' } } },
    { scope: 'family:gift_card', stopped: {} },
    { scope: 'family:esim', stopped: esim },
    {
      scope: 'family:esim',
      stopped: { operation: 'esim_topup', variant: null, plan: 'es-1', iccid: '8901' } as const,
    },
    {
      scope: 'family:esim',
      stopped: { operation: 'esim_cancel', variant: null, iccid: '8901', currency: null } as const,
    },
  ])('is not sent: $scope $stopped', async ({ scope, stopped }) => {
    const box = await withLines(stopped);
    await box.store.operator.pauseScope(person(scope));
    await box.reopen();
    expect(await stepsOf(box.store).openAttempt(box.claim())).toBeNull();
    await box.store.operator.resumeScope(person(scope));
    expect((await stepsOf(box.store).openAttempt(box.claim()))?.purpose).toBe('submit');
  });

  it.each(['family:esim', 'balance:EUR', 'key:spare'])(
    'does not pause other scopes: %s',
    async (scope) => {
      const box = await withLines({ ...esim, currency: 'EUR' }, {});
      await box.store.operator.pauseScope(person(scope));
      const first = await stepsOf(box.store).openAttempt(box.claim());
      const second = await stepsOf(box.store).openAttempt(box.claim());
      const sent = [first, second].map((attempt) => attempt?.entry.operation ?? 'none').toSorted();
      expect(sent).toEqual([
        scope === 'key:spare' ? 'esim_order' : 'gift_card_order',
        scope === 'key:spare' ? 'gift_card_order' : 'none',
      ]);
    },
  );

  it('sends no entry of unknown outcome again, but looks it up', async () => {
    const box = await withLines({}, {});
    await stepsOf(box.store).closeAttempt(
      close(await box.opened(), { ...nothing, nextStep: 'send' }),
    );
    await stepsOf(box.store).closeAttempt(close(await box.opened(), nothing));
    await box.store.operator.pauseScope(person('family:gift_card'));
    const later = { nowMs: 600_000 };
    expect(await stepsOf(box.store).openAttempt(box.claim(later))).toBeNull();
    expect(
      (await stepsOf(box.store).openAttempt(box.claim({ ...later, step: 'lookup' })))?.purpose,
    ).toBe('lookup');
  });

  it('is resumed by an operator, and not by a probe that was in flight', async () => {
    const box = await withLines({});
    await box.store.pauses.open(worker('balance:USD'));
    await box.store.operator.pauseScope(person('balance:USD'));
    expect(await box.store.pauses.end('balance:USD', 'tried again', 6000)).toBe(false);
    await box.store.pauses.postponeProbe('balance:USD', 7000);
    expect(await box.store.pauses.all()).toEqual([
      {
        scope: 'balance:USD',
        reason: 'manual',
        message: 'stocktaking',
        openedBy: 'cli:anna',
        sinceMs: 5000,
        probeAtMs: null,
        probes: 0,
      },
    ]);
    // A pause that the worker opens meanwhile does not replace it.
    await box.store.pauses.open(worker('balance:USD'));
    expect((await box.store.pauses.all())[0]?.probeAtMs).toBeNull();
    await expect(box.store.operator.pauseScope(person('balance:USD'))).rejects.toMatchObject({
      code: 'NOT_ALLOWED',
    });
    await box.store.operator.resumeScope(person('balance:USD'));
    await expect(box.store.operator.resumeScope(person('balance:USD'))).rejects.toMatchObject({
      code: 'NOT_ALLOWED',
    });
    expect(await box.store.pauses.all()).toEqual([]);
  });
});
