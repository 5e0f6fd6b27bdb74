import { pino } from 'pino';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { AlertLoop } from '../../../src/results/alerts/alert-loop.ts';
import { alertPace } from '../../../src/results/settings.ts';
import { MachineClock } from '../../support/machine-clock.ts';
import { line, Outbox } from '../../support/outbox.ts';
import { Receiver, takes } from '../../support/receiver.ts';

// The pace of alerts on virtual time: posts are real, and each look of the loop is waited for.

const lookMs = 10_000;
const minuteMs = 60_000;

/** A clock that tells when the loop has done a look. */
class LookClock extends MachineClock {
  #onLook: () => void = () => undefined;

  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const slept = super.sleep(ms, signal);
    if (ms === lookMs) this.#onLook();
    return slept;
  }

  looked(): Promise<void> {
    return new Promise((resolve) => {
      this.#onLook = resolve;
    });
  }
}

interface Alert {
  readonly data: {
    readonly reminder: boolean;
    readonly firing: readonly { readonly condition: string; readonly severity: string }[];
    readonly ended: readonly string[];
    readonly still: readonly string[];
  };
}

let clock: LookClock;
let outbox: Outbox;
let receiver: Receiver;
let loop: AlertLoop;
let failing: string[];
/** When each post had arrived, in minutes of virtual time. */
let postedAt: number[];

beforeEach(async () => {
  clock = new LookClock();
  outbox = await Outbox.open();
  receiver = await Receiver.open(takes);
  failing = [];
  postedAt = [];
  await start();
});
afterEach(async () => {
  await loop.stop();
  await receiver.close();
  await outbox.close();
});

async function start(): Promise<void> {
  const settings = {
    name: 'ops',
    url: receiver.url,
    format: 'json',
    to: null,
    from: null,
  } as const;
  // The post is real: it may take any virtual time.
  const pace = { ...alertPace(1), connectMs: 1e9, totalMs: 1e9 };
  const logger = pino({ level: 'silent' });
  const facts = { version: '1', instance: 'i', pagesUrl: () => null, logger, random: () => 0.5 };
  const troubles = async () =>
    failing.map((check) => ({ check, isFailed: true, text: `The ${check} fails` }));
  loop = new AlertLoop(
    { ...settings, ...pace },
    { ...facts, store: outbox.store, clock, troubles },
  );
  const looked = clock.looked();
  loop.start();
  await looked;
}

async function pass(minutes: number): Promise<void> {
  for (let passedMs = 0; passedMs < minutes * minuteMs; passedMs += lookMs) {
    const looked = clock.looked();
    clock.pass(lookMs);
    await looked;
    while (postedAt.length < receiver.posts.length) postedAt.push(clock.steadyMs() / minuteMs);
  }
}

const alertAt = (index: number): Alert['data'] => {
  const { data }: Alert = JSON.parse(receiver.posts[index]?.body ?? '');
  return data;
};
const firingAt = (index: number): readonly string[] =>
  alertAt(index).firing.map(({ condition }) => condition);

async function refuseLine(orderId: string): Promise<void> {
  const place = { lineNumber: 1, source: 'shop1', orderId, lineId: '1', field: 'quantity' };
  const rejections = [{ ...place, value: '0', code: 'invalid_field', rule: 'at least 1' }];
  const nowMs = clock.wallMs();
  await outbox.store.intake.acceptBatch({ nowMs, fileId: null, lines: [], rejections });
}

async function pause(scope: string, reason = 'api_disabled'): Promise<void> {
  const opened = { scope, reason, message: 'no', openedBy: 'worker', probeAtMs: 1e15 };
  await outbox.store.pauses.open({ ...opened, nowMs: clock.wallMs() });
}
const resume = (scope: string) => outbox.store.pauses.end(scope, 'over', clock.wallMs());

it('a total stop is posted when it has lasted a minute, also right after a small alert', async () => {
  await refuseLine('17');
  await pass(2);
  expect([postedAt, firingAt(0)]).toEqual([[1], ['invalid_line']]);
  await pause('account');
  await pass(2);
  expect([postedAt, firingAt(1), alertAt(1).still]).toEqual([
    [1, 3],
    ['pause:account'],
    ['invalid_line'],
  ]);
});

it('a second critical cause is posted a minute after the first, a small one after a quarter of an hour', async () => {
  failing = ['database'];
  await pass(1.5);
  failing.push('disk');
  await pass(1);
  await refuseLine('17');
  await pass(17);
  // In looks of ten seconds: a check counts from the first one that sees it.
  expect(postedAt.map((at) => Math.round(at * 6))).toEqual([7, 16, 106]);
  expect([firingAt(0), firingAt(1), firingAt(2)]).toEqual([
    ['check:database'],
    ['check:disk'],
    ['invalid_line'],
  ]);
});

it('two critical causes at once have a minute between their posts', async () => {
  failing = ['database'];
  await pass(0.5);
  failing.push('disk');
  await pass(3);
  expect(postedAt.map((at) => Math.round(at * 6))).toEqual([7, 13]);
});

it('what came and went between two posts is named in the next one, and how long it lasted', async () => {
  await refuseLine('17');
  await pass(2);
  await pause('balance:USD', 'insufficient_balance');
  await pass(5);
  await loop.stop();
  await outbox.reopen();
  await start();
  await resume('balance:USD');
  await pass(5);
  expect(postedAt).toEqual([1]);
  await pass(5);
  expect(postedAt).toHaveLength(2);
  expect([firingAt(1), alertAt(1).still]).toEqual([[], ['invalid_line']]);
  expect(alertAt(1).ended).toEqual(['Over: The USD balance is too low. It lasted 5 min 10 s']);
});

it('what lasts is posted again every hour, and its end with what it held up', async () => {
  await outbox.accept(['1', '2', '3'].map((orderId) => line({ orderId })));
  await pause('account');
  await pass(122);
  expect(postedAt).toEqual([1, 61, 121]);
  expect([0, 1, 2].map((index) => [firingAt(index), alertAt(index).reminder])).toEqual([
    [['pause:account'], false],
    [['pause:account'], true],
    [['pause:account'], true],
  ]);
  const by = { actor: 'cli:anna', reason: 'not now', nowMs: clock.wallMs(), steadyMs: 0 };
  const [held] = outbox.rows<{ reference: string }>('SELECT reference FROM outbox');
  const limits = { referenceExpiryMs: 1e9, lookupFamilies: [] };
  const hold = {
    ...by,
    ...limits,
    reference: held?.reference ?? '',
    order: { action: 'hold' },
  } as const;
  await outbox.store.operator.actOnEntry(hold);
  await pass(0.5);
  await resume('account');
  await pass(15);
  expect(postedAt).toHaveLength(4);
  expect(alertAt(3).ended).toEqual([
    expect.stringMatching(
      /^Over: The supplier does not answer\. It lasted 2 h 2 min and held up 3 orders, 3 lines of unknown cost, /,
    ),
  ]);
});

it('a paused balance is small until it holds up orders', async () => {
  await pause('balance:USD', 'insufficient_balance');
  await pass(3);
  await outbox.accept([line({ orderId: '1', currency: 'USD' })]);
  await pass(1);
  expect([0, 1].map((index) => alertAt(index).firing[0]?.severity)).toEqual([
    'warning',
    'critical',
  ]);
});

it('a hundred outages of less than a minute give no alert', async () => {
  for (let outage = 0; outage < 100; outage += 1) {
    failing = ['database', 'disk'];
    await pause('account');
    await pass(5 / 6);
    failing = [];
    await resume('account');
    await pass(1);
  }
  expect(receiver.posts).toEqual([]);
});
