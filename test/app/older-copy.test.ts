import { afterEach, beforeEach, expect, it } from 'vitest';
import { beginAfterLoss } from '../../src/app/older-copy.ts';
import { Outbox } from '../support/outbox.ts';

let box: Outbox;
beforeEach(async () => {
  box = await Outbox.open();
});
afterEach(() => box.close());

const config = {
  wholesale: { limits: { windowMs: 60_000, transitMs: 30_000 } },
  submit: { inFlightWindowMs: 20_000 },
};
const clock = { wallMs: () => 5_010_000, steadyMs: () => 10_000 };

it('calls nothing until the calls of the lost outbox are over, also no probe of a paused key', async () => {
  const { pauses } = box.store;
  const pause = { reason: 'ip_not_allowed', message: '', openedBy: 'worker', nowMs: 5000 };
  await pauses.open({ ...pause, scope: 'key:main', probeAtMs: 11_000 });
  await pauses.open({ ...pause, scope: 'key:spare', probeAtMs: 900_000 });
  await pauses.open({
    ...pause,
    scope: 'variant:card',
    reason: 'answer_mismatch',
    probeAtMs: 12_000,
  });
  await beginAfterLoss({ config, clock }, box.store, {
    actor: 'worker',
    reason: 'this is an older copy',
  });
  const probeAt = Object.fromEntries(
    (await pauses.all()).map(({ scope, probeAtMs }) => [scope, probeAtMs]),
  );
  // A window and the transit time later; a product has no probe, and its orders wait for the
  // account.
  expect(probeAt).toEqual({
    account: 100_000,
    'key:main': 100_000,
    'key:spare': 900_000,
    'variant:card': 12_000,
  });
});
