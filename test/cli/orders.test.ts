import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { installation, knownInstallation, runProgram } from './installation.ts';
import {
  fillOutbox,
  line,
  openOutbox,
  replaceBoughtLine,
  settleNext,
  startMs,
} from './sample-outbox.ts';

async function filled() {
  const outbox = knownInstallation();
  await outbox.run('init');
  await fillOutbox(outbox);
  return outbox;
}

/** The order ids that a list shows, in its order. */
async function listed(
  outbox: Awaited<ReturnType<typeof filled>>,
  ...filters: string[]
): Promise<string[]> {
  const { stdout } = await outbox.run('orders', 'list', '--json', ...filters);
  const report: { orders: { order_id: string }[] } = JSON.parse(stdout);
  return report.orders.map((order) => order.order_id);
}

describe('order-sync orders list', () => {
  it('shows every order with the states of its entries, newest first', async () => {
    const outbox = await filled();
    const { code, stdout, stderr } = await outbox.run('orders', 'list');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatchInlineSnapshot(`
      "ID  RECEIVED              SOURCE  ORDER  LINES  STATES
      3   2026-11-21 11:00:03Z  shop1   1003   1      1 pending
      2   2026-11-21 11:00:02Z  shop1   1002   1      1 needs_review
      1   2026-11-21 11:00:00Z  shop1   1001   2      1 fulfilled, 1 rejected, 1 not accepted
      "
    `);
  });

  it('keeps its JSON contract', async () => {
    const outbox = await filled();
    const { stdout } = await outbox.run('orders', 'list', '--json', '--limit', '1');
    expect(JSON.parse(stdout)).toMatchInlineSnapshot(`
      {
        "next_before": 3,
        "orders": [
          {
            "charged": [],
            "customer": null,
            "id": 3,
            "lines": 1,
            "order_id": "1003",
            "products": [
              "steam-10",
            ],
            "received_at": "2026-11-21T11:00:03.000Z",
            "rejected_lines": 0,
            "source": "shop1",
            "states": {
              "pending": 1,
            },
            "updated_at": "2026-11-21T11:00:03.000Z",
          },
        ],
      }
    `);
  });

  it('lists only the orders of a state, a source, a search or the attention list', async () => {
    const outbox = await filled();
    expect(await listed(outbox, '--state', 'pending')).toEqual(['1003']);
    expect(await listed(outbox, '--source', 'shop2')).toEqual([]);
    expect(await listed(outbox, '--search', 'W-1')).toEqual(['1001']);
    expect(await listed(outbox, '--search', 'os-6kaxc2lkdkxasrz3ryxnk4zzla')).toEqual(['1002']);
    expect(await listed(outbox, '--attention')).toEqual(['1002', '1001']);
  });

  it('is read page by page, and prints how to continue', async () => {
    const outbox = await filled();
    const first = await outbox.run('orders', 'list', '--limit', '2');
    expect(first.stderr).toBe('There are more: --before 2\n');
    expect(await listed(outbox, '--limit', '2', '--before', '2')).toEqual(['1001']);
  });

  it('says so when there are no orders', async () => {
    const outbox = await filled();
    expect(await outbox.run('orders', 'list', '--source', 'shop2')).toEqual({
      code: 0,
      stdout: '',
      stderr: 'No such orders.\n',
    });
  });

  it('does not say so above what needs attention and belongs to no order', async () => {
    const outbox = knownInstallation();
    await outbox.run('init');
    await outbox.run('queue', 'pause', 'account', '--reason', 'stock-taking');
    const { stdout, stderr } = await outbox.run('orders', 'list', '--attention');
    expect([stdout, stderr]).toEqual([expect.stringContaining('stock-taking'), '']);
  });

  it('reads while a worker holds the outbox', async () => {
    const outbox = await filled();
    const worker = openOutbox(outbox);
    const { code, stdout } = await runProgram([
      'orders',
      'list',
      '--json',
      '--config',
      outbox.configFile,
    ]);
    await worker.close();
    expect({ code, orders: JSON.parse(stdout).orders.length }).toEqual({ code: 0, orders: 3 });
  });
});

describe('order-sync orders show', () => {
  it('finds an order by the number of its shop, and names those that a text finds', async () => {
    const outbox = await filled();
    const store = openOutbox(outbox);
    for (const [orderId, number] of [
      ['71', 'SO-1465'],
      ['72', 'SO-1466'],
    ] as const) {
      const lines = [
        line(orderId, '1', {
          variant: 'steam-10',
          quantity: 1,
          metadata: { storefront_order: number },
        }),
      ];
      await store.intake.acceptBatch({ nowMs: startMs, fileId: null, lines, rejections: [] });
    }
    await store.close();
    const { code, stdout } = await outbox.run('orders', 'show', 'SO-1465');
    expect([code, stdout.split('\n')[0]]).toEqual([0, 'Order 71 of shop1']);
    const several = await outbox.run('orders', 'show', 'SO-146');
    expect([several.code, several.stderr]).toEqual([
      2,
      expect.stringContaining('finds 72 of shop1, 71 of shop1'),
    ]);
  });

  it('shows what was asked, every attempt, what to do and what is allowed, and nothing that controls a terminal', async () => {
    const outbox = await filled();
    const { code, stdout } = await outbox.run('orders', 'show', '1001');
    expect(code).toBe(0);
    expect(stdout).toMatchInlineSnapshot(`
      "Order 1001 of shop1
      received 2026-11-21 11:00:00Z, changed 2026-11-21 11:00:01Z
      result (folder): due

      os-6g64ovo2o4bv766a4udyoaftcb  line 1  gift_card_order
        asked       2 x steam-10 in USD
        state       fulfilled
        supplier    order W-1, 19.00 USD, 2 units
        allowed     nothing: it is final
        #  OPENED                    PURPOSE  KEY   OUTCOME   HTTP  TOOK    MESSAGE
        1  2026-11-21T11:00:00.000Z  submit   main  accepted  200   250 ms

      os-kpxngmnkhaycontcxzqnrzgdxp  line 2  gift_card_order
        asked       1 x nope in USD
        state       rejected
        error       invalid_variant: No such �[31mproduct�here
        what to do  Correct the product: the supplier does not sell it.
        allowed     reorder
                    order-sync orders reorder os-kpxngmnkhaycontcxzqnrzgdxp --confirm os-kpxngmnkhaycontcxzqnrzgdxp --reason "…"
        #  OPENED                    PURPOSE  KEY   OUTCOME          HTTP  TOOK    MESSAGE
        1  2026-11-21T11:00:01.000Z  submit   main  invalid_variant  404   250 ms  invalid_variant: No such �[31mproduct�here

      Not accepted
        line 4 of the file, line_id 3: quantity must be at least 1, got 0 (invalid_field)
      "
    `);
  });

  it('shows why an order needs review, and an order that was never sent', async () => {
    const outbox = await filled();
    expect((await outbox.run('orders', 'show', '1002')).stdout).toMatchInlineSnapshot(`
      "Order 1002 of shop1
      received 2026-11-21 11:00:02Z, changed 2026-11-21 11:00:02Z
      result (folder): due

      os-6kaxc2lkdkxasrz3ryxnk4zzla  line 1  esim_order
        asked       1 x es-7 for 7 days in USD
        state       needs_review (an attempt was perhaps processed)
        review      the reference has expired
        allowed     retry, resolve
                    order-sync orders retry os-6kaxc2lkdkxasrz3ryxnk4zzla --reason "…"
                    order-sync orders resolve os-6kaxc2lkdkxasrz3ryxnk4zzla --as fulfilled|rejected|refunded --reason "…"
        #  OPENED                    PURPOSE  KEY   OUTCOME   HTTP  TOOK    MESSAGE
        1  2026-11-21T11:00:02.000Z  submit   main  deadline  -     250 ms
      "
    `);
    expect((await outbox.run('orders', 'show', '1003')).stdout).toMatchInlineSnapshot(`
      "Order 1003 of shop1
      received 2026-11-21 11:00:03Z, changed 2026-11-21 11:00:03Z

      os-cjrz4rvldsto2jmhrsscc3j6lo  line 1  gift_card_order
        asked       1 x steam-10 in USD
        state       pending
        next        send, due 2026-11-21 12:00:00Z
        allowed     hold, cancel
                    order-sync orders hold os-cjrz4rvldsto2jmhrsscc3j6lo --reason "…"
                    order-sync orders cancel os-cjrz4rvldsto2jmhrsscc3j6lo --reason "…"
        attempts    none: it was never sent
      "
    `);
  });

  it('finds an order by one of its references, and keeps its JSON contract', async () => {
    const outbox = await filled();
    const { stdout } = await outbox.run('orders', 'show', '1002', '--json');
    const shown = JSON.parse(stdout);
    expect(shown).toMatchInlineSnapshot(`
      {
        "audit": [],
        "deliveries": [
          {
            "done": false,
            "done_at": null,
            "given_up_at": null,
            "last_error": null,
            "sink": "folder",
          },
        ],
        "entries": [
          {
            "allowed_actions": [
              "retry",
              "resolve",
            ],
            "asked": "1 x es-7 for 7 days in USD",
            "attempts": [
              {
                "closed_at": "2026-11-21T11:00:02.250Z",
                "duration_ms": 250,
                "error_code": null,
                "error_message": "",
                "http_status": null,
                "key_name": "main",
                "number": 1,
                "opened_at": "2026-11-21T11:00:02.000Z",
                "outcome": "deadline",
                "purpose": "submit",
                "sent": true,
              },
            ],
            "awaits_recheck": null,
            "client_action": null,
            "cost": null,
            "currency": "USD",
            "error_code": null,
            "error_message": null,
            "has_other_id": false,
            "held_from": null,
            "iccids": [],
            "line_id": "1",
            "may_be_bought": true,
            "next_attempt_at": null,
            "next_step": "send",
            "operation": "esim_order",
            "order_number": null,
            "outcome_unknown": true,
            "paused_by": [],
            "product": "plan:es-7",
            "reference": "os-6kaxc2lkdkxasrz3ryxnk4zzla",
            "replaced": false,
            "review_reason": "the reference has expired",
            "shredded_at": null,
            "state": "needs_review",
            "unit_count": 0,
            "units_missing": 0,
            "unknown_of_product": 0,
            "waits_for_key": null,
          },
        ],
        "esim_orders": [],
        "id": 2,
        "order_id": "1002",
        "received_at": "2026-11-21T11:00:02.000Z",
        "rejections": [],
        "source": "shop1",
        "updated_at": "2026-11-21T11:00:02.250Z",
      }
    `);
    const again = await outbox.run('orders', 'show', shown.entries[0].reference, '--json');
    expect(again.stdout).toBe(stdout);
  });

  it('never shows a delivered code', async () => {
    const outbox = await filled();
    for (const form of [[], ['--json']]) {
      expect((await outbox.run('orders', 'show', '1001', ...form)).stdout).not.toContain(
        'GIFT-CODE',
      );
    }
  });

  it('ends with 4 and a next step for an unknown order', async () => {
    const outbox = await filled();
    const text = await outbox.run('orders', 'show', '9999');
    expect(text).toMatchObject({
      code: 4,
      stdout: '',
      stderr: expect.stringContaining('What to do: '),
    });
    const json = await outbox.run('orders', 'show', '9999', '--json');
    expect(JSON.parse(json.stderr)).toEqual({
      error: {
        code: 'NOT_FOUND',
        message: expect.stringContaining('"9999"'),
        hint: expect.any(String),
      },
    });
  });
});

describe('order-sync orders show, of a line that came in the place of another', () => {
  it('offers the decision whether both are one, until it is made', async () => {
    const place = knownInstallation();
    await place.run('init');
    await replaceBoughtLine(place);
    const show = async () =>
      (await place.run('orders', 'show', '1001')).stdout.split('\n\n').at(2) ?? '';
    const reference = /^os-\w+/.exec(await show())?.[0] ?? '';
    const commands = ['release REF', 'cancel REF']
      .map((command) => `order-sync orders ${command.replace('REF', reference)} --reason "…"`)
      .join(`\n${' '.repeat(14)}`);
    expect(await show()).toContain(`  allowed     release, cancel\n${' '.repeat(14)}${commands}\n`);
    const { entries } = JSON.parse((await place.run('orders', 'show', reference, '--json')).stdout);
    expect(entries[1]).toMatchObject({
      has_other_id: true,
      allowed_actions: ['release', 'cancel'],
    });
    const { stderr } = await place.run('orders', 'ack', reference, '--reason', 'seen by Anna');
    expect(stderr).toContain('what can be done: release, cancel');
    const { attention } = JSON.parse((await place.run('queue', 'status', '--json')).stdout);
    expect(attention[0].what_to_do).toContain('`orders cancel`');
    await place.run('orders', 'release', reference, '--reason', 'asked the customer');
    expect(await show()).toContain('  allowed     hold, cancel\n');
  });
});

describe('order-sync orders show, of an entry whose units nobody has', () => {
  it('says how many, and how they are entered', async () => {
    const outbox = await filled();
    const resolve = async (...more: string[]) =>
      await outbox.run(
        'orders',
        'resolve',
        reference,
        '--as',
        'fulfilled',
        ...more,
        '--reason',
        'seen in their list',
      );
    const shown = async () => (await outbox.run('orders', 'show', '1002')).stdout;
    const [, reference = ''] = /\n(os-\w+) /.exec(await shown()) ?? [];
    expect((await resolve('--order-number', 'ES-7', '--no-units')).code).toBe(0);
    expect(await shown()).toContain(
      '  state       fulfilled (1 of its units are not in the outbox: needs_manual_delivery)\n',
    );
    expect(await shown()).toContain(
      `order-sync orders resolve ${reference} --as fulfilled --units FILE --reason "…"\n`,
    );
    const units = join(outbox.folder, 'units.txt');
    writeFileSync(units, 'LPA:1$rsp.example.com$7KQ2-X9ZB\n');
    expect((await resolve('--units', units)).code).toBe(0);
    expect(await shown()).toContain('  state       fulfilled\n');
    expect(await shown()).toContain('  allowed     nothing: it is final\n');
  });
});

describe('order-sync orders show, of a held entry', () => {
  it('says why it is held, not what a call for it ended with before', async () => {
    const outbox = await filled();
    const store = openOutbox(outbox);
    const error = { code: 'insufficient_balance', message: 'Balance too low', buffered: false };
    // Of the order 1003.
    await settleNext(store, 5000, {
      state: 'waiting',
      row: 'insufficient_balance',
      error,
    });
    await store.close();
    const shown = async () => (await outbox.run('orders', 'show', '1003')).stdout;
    expect(await shown()).toContain(
      '  error       insufficient_balance: Balance too low\n  what to do  ',
    );
    const [, reference = ''] = /\n(os-\w+) /.exec(await shown()) ?? [];
    await outbox.run('orders', 'hold', reference, '--reason', 'the customer asked to wait');
    expect(await shown()).toContain(
      '  state       held\n  held        the customer asked to wait\n  allowed     release',
    );
    const { entries } = JSON.parse((await outbox.run('orders', 'show', '1003', '--json')).stdout);
    expect(entries[0]).toMatchObject({
      state: 'held',
      review_reason: 'the customer asked to wait',
      client_action: null,
    });
  });
});

describe('order-sync orders show, of an entry that waits', () => {
  it('says which pause keeps it from being sent, and since when', async () => {
    const outbox = await filled();
    await outbox.run('queue', 'pause', 'variant:steam-10', '--reason', 'wrong price');
    const { stdout } = await outbox.run('orders', 'show', '1003');
    expect(stdout).toContain('  paused      variant:steam-10 since 2026-11-21 12:00:00Z: manual\n');
    const { entries } = JSON.parse((await outbox.run('orders', 'show', '1003', '--json')).stdout);
    const since = '2026-11-21T12:00:00.000Z';
    expect(entries[0].paused_by).toEqual([{ scope: 'variant:steam-10', reason: 'manual', since }]);
  });

  it('says that unknown outcomes hold up its product', async () => {
    const outbox = await filled();
    const store = openOutbox(outbox);
    const lines = ['2001', '2002'].map((orderId) =>
      line(orderId, '1', { variant: 'steam-10', quantity: 1 }),
    );
    await store.intake.acceptBatch({ nowMs: startMs + 4000, fileId: null, lines, rejections: [] });
    // The order 1003 is the first of them.
    for (const afterMs of [5000, 6000]) {
      const unknown = {
        state: 'unknown',
        nextStep: 'lookup',
        row: 'deadline',
        outcomeUnknown: true,
      } as const;
      await settleNext(store, afterMs, unknown);
    }
    await store.close();
    const shown = async (orderId: string) => (await outbox.run('orders', 'show', orderId)).stdout;
    const until = 'nothing new of this product is bought until one outcome is known';
    expect(await shown('2001')).toContain(
      `  product     variant:steam-10 has 2 unknown outcomes, this one among them: ${until}\n`,
    );
    expect(await shown('2002')).toContain(
      `  product     variant:steam-10 has 2 unknown outcomes: ${until}\n`,
    );
    expect(await shown('1001')).not.toContain('unknown outcomes');
  });
});

describe('order-sync orders list --attention', () => {
  it('shows what belongs to no order, too, unless orders of one kind are asked for', async () => {
    const outbox = await filled();
    const { stdout } = await outbox.run('orders', 'list', '--attention');
    expect(stdout).toMatch(
      /ORDER[^]*\n2 +[^]*\nATTENTION +ID[^]*\npause +pause:balance:EUR +\S+ \S+ +balance:EUR +insufficient_balance: Balance too low\.\n[^]*WHAT TO DO/,
    );
    const report = JSON.parse((await outbox.run('orders', 'list', '--attention', '--json')).stdout);
    expect(report.attention).toEqual(
      JSON.parse((await outbox.run('queue', 'status', '--json')).stdout).attention,
    );
    const ofShop = await outbox.run('orders', 'list', '--attention', '--source', 'shop1', '--json');
    expect(JSON.parse(ofShop.stdout).attention).toHaveLength(3);
    for (const other of [
      [],
      ['--attention', '--state', 'pending'],
      ['--attention', '--before', '2'],
    ]) {
      const { stdout: text } = await outbox.run('orders', 'list', '--json', ...other);
      expect(JSON.parse(text)).not.toHaveProperty('attention');
    }
  });
});

describe('order-sync queue status', () => {
  it('shows what is open, what is paused and what needs review', async () => {
    const outbox = await filled();
    const { code, stdout } = await outbox.run('queue', 'status');
    expect(code).toBe(0);
    expect(stdout).toMatchInlineSnapshot(`
      "1 open, the oldest for 59 min 57 s; 2 results to be written

      spent today (UTC): 19.00 USD, refunded 0.00, orders charged: 1

      4 rows need attention: 1 invalid_line, 1 needs_review, 1 pause, 1 rejected

      STATE         ENTRIES
      pending       1
      fulfilled     1
      rejected      1
      needs_review  1

      PAUSED       SINCE                 BY      HOLDS UP  REASON
      balance:EUR  2026-11-21 11:00:00Z  worker  0         insufficient_balance: Balance too low

      1 x insufficient_balance balance:EUR (pause), since 2026-11-21 11:00:00Z
        Balance too low.
        To do: Top up at the supplier, then \`queue resume\`.
        Id: pause:balance:EUR
      1 x needs_review es-7 shop1/1002/1 (needs_review), since 2026-11-21 11:00:02Z
        The reference has expired.
        Affects: 1 order, 1 line of unknown cost, the oldest for 59 min 58 s
        To do: Compare the line with the supplier's list, then settle it with \`orders resolve\`, or try
        again with \`orders retry\`.
        Id: os-6kaxc2lkdkxasrz3ryxnk4zzla
      1 x invalid_field shop1/1001/3 (invalid_line), since 2026-11-21 11:00:00Z
        Line 4 of the file, quantity: must be at least 1.
        To do: Correct the line and send it again, or end this row with \`orders ack\`.
        Id: line:1
      1 x invalid_variant nope shop1/1001/2 (rejected), since 2026-11-21 11:00:01Z
        No such �[31mproduct�here.
        Affects: 1 order, 1 line of unknown cost, the oldest for 1 h
        To do: Correct the cause and order the line again with \`orders reorder\` (with a corrected SKU map
        \`orders reorder --remap\`), or refund it in the shop, then end this row with \`orders ack\`.
        Id: os-kpxngmnkhaycontcxzqnrzgdxp
      "
    `);
  });

  it('keeps its JSON contract', async () => {
    const outbox = await filled();
    const { stdout } = await outbox.run('queue', 'status', '--json');
    expect(JSON.parse(stdout)).toMatchInlineSnapshot(`
      {
        "attention": [
          {
            "can_acknowledge": false,
            "code": "needs_review",
            "holds_up": "this line",
            "id": "os-6kaxc2lkdkxasrz3ryxnk4zzla",
            "kind": "needs_review",
            "line_id": "1",
            "message": "the reference has expired",
            "order_id": "1002",
            "reason": "needs_review",
            "reference": "os-6kaxc2lkdkxasrz3ryxnk4zzla",
            "scope": null,
            "since": "2026-11-21T11:00:02.250Z",
            "source": "shop1",
            "state": "needs_review",
            "what_to_do": "Compare the line with the supplier's list, then settle it with \`orders resolve\`, or try again with \`orders retry\`.",
          },
          {
            "can_acknowledge": false,
            "code": "insufficient_balance",
            "holds_up": "orders that are charged to this balance",
            "id": "pause:balance:EUR",
            "kind": "pause",
            "line_id": null,
            "message": "Balance too low",
            "order_id": null,
            "reason": "balance_too_low",
            "reference": null,
            "scope": "balance:EUR",
            "since": "2026-11-21T11:00:00.000Z",
            "source": null,
            "state": "paused",
            "what_to_do": "Top up at the supplier, then \`queue resume\`.",
          },
          {
            "can_acknowledge": true,
            "code": "invalid_variant",
            "holds_up": "this line: its customer gets nothing",
            "id": "os-kpxngmnkhaycontcxzqnrzgdxp",
            "kind": "rejected",
            "line_id": "2",
            "message": "No such [31mproduct
      here",
            "order_id": "1001",
            "reason": "rejected",
            "reference": "os-kpxngmnkhaycontcxzqnrzgdxp",
            "scope": null,
            "since": "2026-11-21T11:00:01.250Z",
            "source": "shop1",
            "state": "rejected",
            "what_to_do": "Correct the cause and order the line again with \`orders reorder\` (with a corrected SKU map \`orders reorder --remap\`), or refund it in the shop, then end this row with \`orders ack\`.",
          },
          {
            "can_acknowledge": true,
            "code": "invalid_field",
            "holds_up": "this line",
            "id": "line:1",
            "kind": "invalid_line",
            "line_id": "3",
            "message": "line 4 of the file, quantity: must be at least 1",
            "order_id": "1001",
            "reason": "line_refused",
            "reference": null,
            "scope": null,
            "since": "2026-11-21T11:00:00.000Z",
            "source": "shop1",
            "state": "not_accepted",
            "what_to_do": "Correct the line and send it again, or end this row with \`orders ack\`.",
          },
        ],
        "attention_counts": {
          "invalid_line": 1,
          "needs_review": 1,
          "pause": 1,
          "rejected": 1,
        },
        "attention_groups": [
          {
            "affects": {
              "amounts": [],
              "lines_without_amount": 0,
              "more": false,
              "oldest_at": null,
              "orders": 0,
            },
            "code": "insufficient_balance",
            "count": 1,
            "kind": "pause",
            "since": "2026-11-21T11:00:00.000Z",
            "sources": 0,
            "subject": "balance:EUR",
          },
          {
            "affects": {
              "amounts": [],
              "lines_without_amount": 1,
              "more": false,
              "oldest_at": "2026-11-21T11:00:02.000Z",
              "orders": 1,
            },
            "code": "needs_review",
            "count": 1,
            "kind": "needs_review",
            "since": "2026-11-21T11:00:02.250Z",
            "sources": 1,
            "subject": "es-7",
          },
          {
            "affects": null,
            "code": "invalid_field",
            "count": 1,
            "kind": "invalid_line",
            "since": "2026-11-21T11:00:00.000Z",
            "sources": 1,
            "subject": null,
          },
          {
            "affects": {
              "amounts": [],
              "lines_without_amount": 1,
              "more": false,
              "oldest_at": "2026-11-21T11:00:00.000Z",
              "orders": 1,
            },
            "code": "invalid_variant",
            "count": 1,
            "kind": "rejected",
            "since": "2026-11-21T11:00:01.250Z",
            "sources": 1,
            "subject": "nope",
          },
        ],
        "balances": [],
        "entries": {
          "cancelled": 0,
          "expired": 0,
          "fulfilled": 1,
          "held": 0,
          "needs_review": 1,
          "pending": 1,
          "placed": 0,
          "refunded": 0,
          "rejected": 1,
          "sending": 0,
          "unknown": 0,
          "waiting": 0,
        },
        "oldest_open_at": "2026-11-21T11:00:03.000Z",
        "open": 1,
        "paused_sinks": [],
        "pauses": [
          {
            "affects": {
              "amounts": [],
              "lines_without_amount": 0,
              "more": false,
              "oldest_at": null,
              "orders": 0,
            },
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
        "results_due": 2,
        "spent_today": [
          {
            "currency": "USD",
            "day": "2026-11-21",
            "orders": 1,
            "refunded": "0.00",
            "refunds_unknown": 0,
            "spent": "19.00",
            "uncounted": 0,
          },
        ],
      }
    `);
  });

  it('ends with 4 when there is no outbox yet', async () => {
    expect((await installation().run('queue', 'status')).code).toBe(4);
  });
});
