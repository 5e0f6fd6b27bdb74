import { stepsOf } from '../../support/steps.ts';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SystemClock } from '../../../src/ops/system-clock.ts';
import { AlertLoop } from '../../../src/results/alerts/alert-loop.ts';
import { spendSection } from '../../../src/buying/spending/settings.ts';
import type { Told } from '../../../src/results/alerts/news.ts';
import type { AlertSettings } from '../../../src/results/settings.ts';
import { close, emptyBalance, line, Outbox } from '../../support/outbox.ts';
import { answers, Receiver, takes } from '../../support/receiver.ts';

const clock = new SystemClock();

let outbox: Outbox;
let failing: string[];
let loop: AlertLoop | null;
const receivers: Receiver[] = [];

beforeEach(async () => {
  outbox = await Outbox.open();
  failing = [];
  loop = null;
});
afterEach(async () => {
  await loop?.stop();
  for (const receiver of receivers.splice(0)) await receiver.close();
  await outbox.close();
});

async function receiving(...given: Parameters<typeof Receiver.open>): Promise<Receiver> {
  const receiver = await Receiver.open(...given);
  receivers.push(receiver);
  return receiver;
}

function start(receiver: Receiver, changes: Partial<AlertSettings> = {}): void {
  const settings: AlertSettings = {
    name: 'ops',
    url: receiver.url,
    format: 'json',
    to: null,
    from: null,
    lastsMs: 0,
    gapMs: 0,
    intervalMs: 0,
    remindMs: 3_600_000,
    connectMs: 60_000,
    totalMs: 60_000,
    ...changes,
  };
  const troubles = async () =>
    failing.map((check) => ({ check, isFailed: true, text: `${check} fails: repair it` }));
  const logger = pino({ level: 'silent' });
  const pagesUrl = () => 'https://orders.example.com';
  const worker = { version: '1', instance: 'i', pagesUrl, troubles };
  const deps = { store: outbox.store, clock, random: () => 0, logger, ...worker };
  loop = new AlertLoop(settings, { ...deps, everyMs: 10 });
  loop.start();
}

async function told(): Promise<Told> {
  return JSON.parse((await outbox.store.alerts.told('ops')) ?? 'null');
}

async function refuseLine(orderId: string, nowMs = 1000): Promise<void> {
  const rejection = {
    lineNumber: 1,
    source: 'shop1',
    orderId,
    lineId: '1',
    field: 'quantity',
    value: 'SECRET-VALUE',
  };
  const rejections = [{ ...rejection, code: 'invalid_field', rule: 'must be at least 1' }];
  await outbox.store.intake.acceptBatch({ nowMs, fileId: null, lines: [], rejections });
}

interface Alert {
  readonly type: string;
  readonly data: {
    readonly firing: readonly {
      condition: string;
      topic: string;
      count: number;
      examples: { order_id: string }[];
    }[];
    readonly resolved: readonly string[];
  };
}
const alertOf = (body: string | undefined): Alert => JSON.parse(body ?? '');
const shortOf = (body: string | undefined): unknown => {
  const { firing, resolved } = alertOf(body).data;
  return { firing: firing.map(({ condition, count }) => [condition, count]), resolved };
};

describe('alerts', () => {
  it('are posted once, with examples and without what others wrote, and again when it is over', async () => {
    const receiver = await receiving(takes);
    await refuseLine('17');
    failing = ['disk'];
    start(receiver);
    await receiver.arrived(1);
    const [first] = receiver.posts;
    expect(shortOf(first?.body)).toEqual({
      firing: [
        ['check:disk', 1],
        ['invalid_line', 1],
      ],
      resolved: [],
    });
    expect(alertOf(first?.body).data.firing[1]?.examples[0]?.order_id).toBe('17');
    expect(alertOf(first?.body).data.firing).toMatchObject([
      {
        severity: 'critical',
        message: 'disk fails: repair it',
        shops: [],
        link: 'https://orders.example.com/',
      },
      {
        severity: 'warning',
        message: 'An order line has a mistake',
        since: '1970-01-01T00:00:01.000Z',
        shops: ['shop1'],
        held_up: '1 order line',
        what_to_do: expect.stringMatching(/^Correct the line/),
      },
    ]);
    expect(first?.body).not.toContain('SECRET-VALUE');

    failing = [];
    await receiver.arrived(2);
    expect(shortOf(receiver.posts[1]?.body)).toEqual({ firing: [], resolved: ['check:disk'] });
    await refuseLine('18');
    await receiver.arrived(3);
    expect(shortOf(receiver.posts[2]?.body)).toEqual({
      firing: [['invalid_line', 2]],
      resolved: [],
    });
  });

  it('are neither repeated nor lost by a restart', async () => {
    const receiver = await receiving(takes);
    await refuseLine('17');
    start(receiver);
    await receiver.arrived(1);
    await loop?.stop();
    await outbox.reopen();
    // The line came again corrected, and another one was refused, while no worker ran.
    await outbox.accept([line({ orderId: '17' })]);
    failing = ['folder'];
    start(receiver);
    await receiver.arrived(2);
    expect(shortOf(receiver.posts[1]?.body)).toMatchObject({ firing: [['check:folder', 1]] });
  });

  it('that are new in the place of others are told, also when there are as many', async () => {
    const receiver = await receiving(takes);
    await refuseLine('17', 1000);
    start(receiver);
    await receiver.arrived(1);
    await loop?.stop();
    await outbox.accept([line({ orderId: '17' })]);
    await refuseLine('18', 2000);
    start(receiver);
    await receiver.arrived(2);
    const [refused] = alertOf(receiver.posts[1]?.body).data.firing;
    expect([refused?.condition, refused?.examples.map((row) => row.order_id)]).toEqual([
      'invalid_line',
      expect.arrayContaining(['18']),
    ]);
  });

  it('wait for the end of the interval, also after a restart', async () => {
    const receiver = await receiving(takes);
    await refuseLine('17');
    failing = ['disk'];
    const limited = { intervalMs: 3_600_000 };
    start(receiver, limited);
    await receiver.arrived(1);
    expect(shortOf(receiver.posts[0]?.body)).toMatchObject({
      firing: expect.arrayContaining([['check:disk', 1]]),
    });
    await loop?.stop();
    failing = [];
    start(receiver, limited);
    const first = loop;
    // An endpoint without an interval shows that the first one has had its time.
    const other = await receiving(takes);
    start(other, { name: 'other' });
    await other.arrived(1);
    await refuseLine('18');
    await other.arrived(2);
    await first?.stop();
    expect(receiver.posts).toHaveLength(1);
    expect((await told()).conditions).toContainEqual(
      expect.objectContaining({ condition: 'check:disk' }),
    );
  });

  it('are posted again with the same id when a post fails; an endpoint that keeps failing is paused', async () => {
    const receiver = await receiving(answers(500), answers(500), answers(500), takes);
    await refuseLine('17');
    start(receiver);
    await receiver.arrived(3);
    expect(new Set(receiver.posts.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    await receiver.arrived(4);
    await loop?.stop();
    expect(outbox.store.read.sinkPauses()).toEqual([]);
    expect((await told()).conditions).toMatchObject([
      { condition: 'invalid_line', posted: { severity: 'warning', count: 1 } },
    ]);
  });

  it('show in health while their endpoint fails, and a reload of the sinks does not end that', async () => {
    const receiver = await receiving(answers(503));
    await refuseLine('17');
    start(receiver);
    await receiver.arrived(3);
    await loop?.stop();
    await outbox.store.adoptConfig({
      shops: [],
      keys: [],
      sinks: [{ name: 'folder', sources: null }],
      nowMs: 5000,
    });
    expect(outbox.store.read.sinkPauses()).toMatchObject([
      { sink: 'alert:ops', reason: 'http_503' },
    ]);
  });

  it('say that another endpoint takes none until it does or is configured no more, and never their own', async () => {
    const pauseOf = (name: string) => {
      const pause = {
        sink: `alert:${name}`,
        reason: 'http_503',
        message: 'it answered 503',
        probes: 3,
      };
      return outbox.store.results.pauseSink({ ...pause, nowMs: Date.now(), probeAtMs: 0 });
    };
    const receiver = await receiving(takes);
    await pauseOf('pager');
    await pauseOf('ops');
    start(receiver);
    await receiver.arrived(1);
    expect(shortOf(receiver.posts[0]?.body)).toEqual({ firing: [['sink', 1]], resolved: [] });
    await outbox.store.alerts.keep(['ops']);
    await receiver.arrived(2);
    expect(shortOf(receiver.posts[1]?.body)).toEqual({ firing: [], resolved: ['sink'] });
  });

  it('are not paused for ever when what they were about ended before their endpoint was back', async () => {
    const receiver = await receiving(answers(503));
    const nowMs = Date.now();
    const pause = {
      sink: 'alert:ops',
      reason: 'http_503',
      message: 'the receiver answered 503',
      probes: 3,
    };
    await outbox.store.results.pauseSink({ ...pause, nowMs, probeAtMs: 0 });
    start(receiver);
    await expect.poll(() => outbox.store.read.sinkPauses()).toEqual([]);
    expect(receiver.posts).toEqual([]);
  });

  it('say a cause once, however many rows and shops it has', async () => {
    const receiver = await receiving(takes);
    const of = (source: string, orderId: string) =>
      line({ source, orderId, variant: 'nope-usd-1' });
    const orders = Array.from({ length: 14 }, (_, index) => of(`shop${index % 3}`, String(index)));
    await outbox.accept(orders);
    const error = { code: 'invalid_variant', message: 'WHAT THE API WROTE', buffered: false };
    const refused = { ...emptyBalance, state: 'rejected', row: 'invalid_variant', error } as const;
    while (outbox.rows("SELECT 1 FROM outbox WHERE state = 'pending'").length > 0)
      await stepsOf(outbox.store).closeAttempt(close(await outbox.opened(), refused));
    start(receiver, { format: 'slack' });
    await receiver.arrived(1);
    const { text }: { text: string } = JSON.parse(receiver.posts[0]?.body ?? '');
    expect(text.split('\n')).toEqual([
      'order-sync i: warning: The supplier does not know a product (14)',
      '',
      'WARNING: The supplier does not know nope-usd-1, 14 times (invalid_variant)',
      expect.stringMatching(
        /^ {3}since 1970-01-01 00:00:02Z \(.*\), in shop0, shop1, shop2, holds up 14 orders, 14 lines of unknown cost, the oldest for .*$/,
      ),
      expect.stringMatching(
        /^ {3}To do: Correct the cause and order the line again with `orders reorder`/,
      ),
      '   https://orders.example.com/attention?kind=rejected',
    ]);
  });

  it('say how much of a balance is left, and what to do', async () => {
    const receiver = await receiving(takes);
    const who = { actor: 'cli:ann', reason: 'the supplier shows it', nowMs: 1 };
    await outbox.store.operator.setBalance({ ...who, currency: 'USD', millionths: 41_234_567 });
    const spending = spendSection.parse({ balance_alerts: ['50.00 USD'] });
    await stepsOf(outbox.store).watchMoney(spending, 1);
    start(receiver, { format: 'slack' });
    await receiver.arrived(1);
    const { text }: { text: string } = JSON.parse(receiver.posts[0]?.body ?? '');
    expect(text).toContain('The USD balance is running low');
    expect(text).toContain('(about 41 USD are left)');
    expect(text).toContain('then enter the new balance with `balance set`');
  });

  it('have a text for Slack that nobody outside can make a mention of', async () => {
    const receiver = await receiving(takes);
    await refuseLine('<!channel> @everyone');
    start(receiver, { format: 'slack' });
    await receiver.arrived(1);
    const { text }: { text: string } = JSON.parse(receiver.posts[0]?.body ?? '');
    expect(text).toContain(
      'WARNING: An order line has a mistake: order &lt;!channel&gt; @\u200beveryone (invalid_field)',
    );
    expect(receiver.posts[0]?.headers['webhook-signature']).toBeUndefined();
  });
});
