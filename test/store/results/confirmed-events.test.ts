import { stepsOf } from '../../support/steps.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { close, fulfilled, line, Outbox } from '../../support/outbox.ts';
import { redeliver } from '../../support/redeliver.ts';

const sink = 'callback:shop';
let outbox: Outbox;
beforeEach(async () => {
  outbox = await Outbox.open([{ name: sink, sources: null }]);
  await outbox.accept([line({ orderId: '1' })]);
  await stepsOf(outbox.store).closeAttempt(close(await outbox.opened(), fulfilled));
});
afterEach(() => outbox.close());

const due = async () => (await outbox.store.results.dueDeliveries(sink, 99_999, 1))[0];

test('what a sink has confirmed is kept for the versions to come, also over a restart', async () => {
  const { requestId = 0, version = 0, confirmed } = (await due()) ?? {};
  expect(confirmed).toBeNull();
  await outbox.store.results.confirmEvents({
    requestId,
    sink,
    events: '{"replays":0,"reviews":{"a":1}}',
  });
  await outbox.store.results.closeDelivery({ requestId, sink, version, nowMs: 2000 });
  await outbox.reopen();
  await redeliver(outbox.store, {}, 3000);
  expect((await due())?.confirmed).toBe('{"replays":1}');
});

test('what was confirmed while an operator asked for the result again is told again all the same', async () => {
  const { requestId = 0 } = (await due()) ?? {};
  await redeliver(outbox.store, {}, 3000);
  await outbox.store.results.confirmEvents({
    requestId,
    sink,
    events: '{"replays":0,"reviews":{"a":1}}',
  });
  expect((await due())?.confirmed).toBe('{"replays":1}');
  await outbox.store.results.confirmEvents({
    requestId,
    sink,
    events: '{"replays":1,"reviews":{"a":1}}',
  });
  expect((await due())?.confirmed).toBe('{"replays":1,"reviews":{"a":1}}');
});
