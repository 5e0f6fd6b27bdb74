import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { knownInstallation, type Installation } from './installation.ts';
import { fillOutbox } from './sample-outbox.ts';

const pending = 'os-cjrz4rvldsto2jmhrsscc3j6lo';
const doubtful = 'os-6kaxc2lkdkxasrz3ryxnk4zzla';
const why = ['--reason', 'asked by the shop'];

async function filled(): Promise<Installation> {
  const outbox = knownInstallation();
  await fillOutbox(outbox);
  return outbox;
}

const explained = async (outbox: Installation, ...argv: string[]) =>
  (await outbox.run('queue', 'explain', ...argv)).stdout;

describe('order-sync queue explain', () => {
  it('tells when everything is sent, and what is used of the budget', async () => {
    const outbox = await filled();
    expect(await explained(outbox)).toMatchInlineSnapshot(`
      "1 to send, 0 in doubt; all of it can be sent now
      balance:EUR stands still since 2026-11-21T11:00:00.000Z, by worker: insufficient_balance: Balance too low
      note: no worker answers: nothing is sent until one runs, and times count from then

      LIMIT     USED     NEXT SLOT
      orders    3 of 20  2026-11-21 12:00:00Z
      requests  3 of 60  2026-11-21 12:00:00Z

      KEY   STATE  UNTIL  ORDERS  REQUESTS
      main  ready  -      3       3
      "
    `);
    expect(JSON.parse(await explained(outbox, '--json'))).toMatchInlineSnapshot(`
      {
        "drained_at": "2026-11-21T12:00:00.000Z",
        "keys": [
          {
            "name": "main",
            "orders_used": 3,
            "requests_used": 3,
            "since": null,
            "state": "ready",
            "until": null,
          },
        ],
        "limits": [
          {
            "capacity": 20,
            "limit": "orders",
            "next_free_at": "2026-11-21T12:00:00.000Z",
            "used": 3,
          },
          {
            "capacity": 60,
            "limit": "requests",
            "next_free_at": "2026-11-21T12:00:00.000Z",
            "used": 3,
          },
        ],
        "outcome_unknown": 0,
        "paused_scopes": 0,
        "reasons": [
          "no worker answers: nothing is sent until one runs, and times count from then",
        ],
        "to_send": 1,
      }
    `);
  });

  it('tells the place of an entry and when it starts', async () => {
    const outbox = await filled();
    expect(await explained(outbox, pending)).toMatchInlineSnapshot(`
      "os-cjrz4rvldsto2jmhrsscc3j6lo is pending
        why     no worker answers: nothing is sent until one runs, and times count from then
        place   1 (at most 0 calls come before it)
        starts  now
      "
    `);
    expect(JSON.parse(await explained(outbox, pending, '--json'))).toMatchInlineSnapshot(`
      {
        "calls_ahead": 0,
        "reasons": [
          "no worker answers: nothing is sent until one runs, and times count from then",
        ],
        "reference": "os-cjrz4rvldsto2jmhrsscc3j6lo",
        "starts_at": "2026-11-21T12:00:00.000Z",
        "state": "pending",
      }
    `);
  });

  it('tells what stands in the way: a person, a scope, the time', async () => {
    const outbox = await filled();
    expect(await explained(outbox, doubtful)).toMatchInlineSnapshot(`
      "os-6kaxc2lkdkxasrz3ryxnk4zzla is needs_review
        why     a person must decide: the horizon has passed
      "
    `);
    await outbox.run('queue', 'pause', 'family:gift_card', ...why);
    expect(await explained(outbox, pending)).toMatch(
      /why +family:gift_card stands still since \S+, by cli:\S+: manual: asked by the shop/,
    );
    await outbox.run('queue', 'pause', 'account', ...why);
    expect(await explained(outbox)).toContain('nothing new is sent: account stands still');
    await outbox.run('orders', 'cancel', pending, ...why);
    expect(await explained(outbox, pending)).toBe(
      `${pending} is cancelled\n  why     it is cancelled, which is final\n`,
    );
  });

  it('counts what comes before: 25 orders of a shop need two windows', async () => {
    const outbox = await filled();
    const lines = Array.from({ length: 25 }, (_, index) => ({
      line_id: String(index),
      type: 'gift_card_order',
      variant: 'steam-usd-5',
      quantity: 1,
    }));
    const file = `${outbox.folder}/many.json`;
    writeFileSync(file, JSON.stringify({ source: 'shop2', order_id: '1', currency: 'USD', lines }));
    const submitted = JSON.parse((await outbox.run('submit', file, '--json')).stdout);
    const last: { calls_ahead: number; starts_at: string } = JSON.parse(
      await explained(outbox, submitted.lines[24].reference, '--json'),
    );
    // One of the other shop may come before it; three of the twenty slots are held by what was bought before.
    expect(last).toMatchObject({ calls_ahead: 25, starts_at: '2026-11-21T12:01:00.000Z' });
    const first = JSON.parse(await explained(outbox, submitted.lines[0].reference, '--json'));
    expect(first).toMatchObject({ calls_ahead: 1, starts_at: '2026-11-21T12:00:00.000Z' });
    const others = first.reasons.filter((reason: string) => !reason.startsWith('no worker answers'));
    expect(others).toEqual([]);
  });

  it('ends with 4 for a reference that is not there', async () => {
    expect((await (await filled()).run('queue', 'explain', 'os-nobody')).code).toBe(4);
  });
});
