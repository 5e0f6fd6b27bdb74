import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startWorker } from '../../src/app/start-worker.ts';
import { loadConfig } from '../../src/config/load.ts';
import { SystemClock, systemRandom } from '../../src/ops/system-clock.ts';
import { knownInstallation, type Installation } from './installation.ts';
import { fillOutbox } from './sample-outbox.ts';

const pending = 'os-cjrz4rvldsto2jmhrsscc3j6lo';
const inReview = 'os-6kaxc2lkdkxasrz3ryxnk4zzla';
const why = ['--reason', 'asked by the shop'];

async function filled(): Promise<Installation> {
  const outbox = knownInstallation();
  expect((await outbox.run('init')).code).toBe(0);
  await fillOutbox(outbox);
  return outbox;
}

const explained = async (outbox: Installation, ...argv: string[]) =>
  (await outbox.run('queue', 'status', '--explain', ...argv)).stdout;

/** The worker of an installation, in this process. Its account is paused: it calls nobody. */
async function startPausedWorker(outbox: Installation): Promise<void> {
  await outbox.run('queue', 'pause', 'account', ...why);
  const worker = await startWorker({
    config: loadConfig({ file: outbox.configFile, environment: {} }).config,
    logger: pino({ level: 'silent' }),
    clock: new SystemClock(),
    random: systemRandom,
    version: '0',
    pid: process.pid,
  });
  onTestFinished(() => worker.stop());
}

describe('order-sync queue status --explain, while no worker runs', () => {
  it('prints what the outbox knows, no estimate, and the next step', async () => {
    const outbox = await filled();
    expect(await explained(outbox)).toMatchInlineSnapshot(`
      "1 to send; the outcome of 0 is unknown; without a worker there is no estimate.
      balance:EUR is paused since 2026-11-21T11:00:00.000Z by worker: insufficient_balance: Balance too low; it holds up 0 entries.
      note: no worker answers: nothing is sent until a worker runs; start it with \`order-sync run\`.
      "
    `);
    const { free_bytes: freeBytes, ...queue } = JSON.parse(await explained(outbox, '--json'));
    expect(freeBytes).toBeGreaterThan(0);
    expect(queue).toMatchInlineSnapshot(`
      {
        "drained_at": null,
        "keys": [],
        "limits": [],
        "notes": [
          "no worker answers: nothing is sent until a worker runs; start it with \`order-sync run\`",
        ],
        "outcome_unknown": 0,
        "pauses": [
          {
            "holds_up": 0,
            "message": "Balance too low",
            "opened_by": "worker",
            "probe_at": null,
            "probes": 0,
            "reason": "insufficient_balance",
            "scope": "balance:EUR",
            "since": "2026-11-21T11:00:00.000Z",
          },
        ],
        "per_minute": 0,
        "reasons": [],
        "to_send": 1,
        "to_send_paused": 0,
        "to_send_waiting": 0,
        "worker_answers": false,
      }
    `);
  });

  it('prints why an entry is not sent, without its place and its time', async () => {
    const outbox = await filled();
    expect(await explained(outbox, pending)).toMatchInlineSnapshot(`
      "os-cjrz4rvldsto2jmhrsscc3j6lo is pending
        why     No worker answers: nothing is sent until a worker runs; start it with \`order-sync run\`.
      "
    `);
    expect(JSON.parse(await explained(outbox, pending, '--json'))).toMatchInlineSnapshot(`
      {
        "calls_ahead": null,
        "per_minute": 0,
        "reasons": [
          "no worker answers: nothing is sent until a worker runs; start it with \`order-sync run\`",
        ],
        "reference": "os-cjrz4rvldsto2jmhrsscc3j6lo",
        "starts_at": null,
        "state": "pending",
        "worker_answers": false,
      }
    `);
    expect(await explained(outbox, inReview)).toMatchInlineSnapshot(`
      "os-6kaxc2lkdkxasrz3ryxnk4zzla is needs_review
        why     It needs review: the reference has expired.
      "
    `);
    await outbox.run('queue', 'pause', 'family:gift_card', ...why);
    expect(await explained(outbox, pending)).toMatch(
      /why +family:gift_card is paused since \S+ by cli:\S+: manual: asked by the shop/,
    );
    await outbox.run('queue', 'pause', 'account', ...why);
    expect(await explained(outbox)).toContain('Nothing new is sent: account is paused');
    await outbox.run('orders', 'cancel', pending, ...why);
    expect(await explained(outbox, pending)).toBe(
      `${pending} is cancelled\n  why     It is cancelled, which is final.\n`,
    );
  });

  it('ends with 4 for a reference that is not in the outbox', async () => {
    expect((await (await filled()).run('queue', 'status', '--explain', 'os-nobody')).code).toBe(4);
  });
});

describe('order-sync queue status --explain, while a worker runs', () => {
  it('prints what the budget gate of the worker knows', async () => {
    const outbox = await filled();
    await startPausedWorker(outbox);
    const queue = JSON.parse(await explained(outbox, '--json'));
    // The three orders of an earlier run of the machine hold their slots for a window from the
    // start of the worker.
    expect(queue).toMatchObject({
      worker_answers: true,
      to_send: 1,
      reasons: [
        expect.stringMatching(
          /^account is paused since \S+ by cli:\S+: manual: asked by the shop; it holds up 1 entry$/,
        ),
      ],
      notes: [],
      keys: [{ name: 'main', state: 'ready', orders_used: 3, requests_used: 3 }],
      limits: [
        { limit: 'orders', used: 3, capacity: 20 },
        { limit: 'requests', used: 3, capacity: 60 },
      ],
      drained_at: null,
    });
    const text = await explained(outbox);
    expect(text).toMatch(
      /^1 to send; the outcome of 0 is unknown; there is no estimate of when all of it is sent\.\n/,
    );
    expect(text).toContain('Nothing new is sent: account is paused');
    expect(text).toMatch(
      /balance:EUR is paused since \S+ by worker: insufficient_balance: Balance too low; it holds up 0 entries\.\n/,
    );
    expect(text).toMatch(
      /LIMIT +USED +NEXT SLOT\norders +3 of 20 +\S+ \S+\nrequests +3 of 60 +\S+ \S+\n/,
    );
    expect(text).toMatch(/KEY +STATE +UNTIL +ORDERS +REQUESTS\nmain +ready +- +3 +3\n/);
  });

  it('prints the place of an entry, and ends with 4 for a reference that is not in the outbox', async () => {
    const outbox = await filled();
    await startPausedWorker(outbox);
    expect(await explained(outbox, pending)).toMatch(
      /is pending\n {2}why +Account is paused since .*\n {2}place +it is the next\n$/,
    );
    expect(await outbox.run('queue', 'status', '--explain', 'os-nobody')).toEqual({
      code: 4,
      stdout: '',
      stderr:
        'order-sync: No reference "os-nobody" is in the outbox\nWhat to do: look for the order with `order-sync orders list --search`\n',
    });
  });
});
