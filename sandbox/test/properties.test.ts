import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { SandboxConfig } from '../settings/config.ts';
import type { Sandbox } from '../create-sandbox.ts';
import type { SandboxLedger } from '../operator/ledger.ts';
import {
  type Caller,
  callerOf,
  esim,
  giftCard,
  type Reply,
  startSandbox,
} from './running-sandbox.ts';

type Step =
  | {
      do: 'gift_card' | 'esim';
      reference: string;
      item: string;
      quantity: number;
      currency: string;
      days?: number;
    }
  | { do: 'topup'; reference: string; which: number; item: string }
  | { do: 'cancel' | 'install' | 'expire' | 'uncheck' | 'refund' | 'lookup'; which: number }
  | { do: 'wait'; ms: number };

/** A small pool: repeats and collisions between the families are frequent. */
const reference = fc.constantFrom('r1', 'r2', 'r3', 'r4', 'r5', 'r6', 'r7');
const which = fc.nat(5);
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant('gift_card' as const),
    reference,
    item: fc.constantFrom(
      'steam-usd-20',
      'test-few-left',
      'test-limit-5',
      'test-refunded',
      'test-delayed',
      'test-delayed-refunded',
      'test-website-only',
      'nothing',
    ),
    quantity: fc.oneof(fc.integer({ min: 1, max: 6 }), fc.constantFrom(-1, 0, 51)),
    currency: fc.constantFrom('USD', 'EUR', 'GBP'),
  }),
  fc.record(
    {
      do: fc.constant('esim' as const),
      reference,
      item: fc.constantFrom(
        'es-5gb-30d',
        'es-daily-1gb',
        'test-plan-refunded',
        'test-plan-delayed',
        'test-plan-unchecked',
        'test-plan-off-sale',
      ),
      quantity: fc.oneof(fc.integer({ min: 1, max: 3 }), fc.constantFrom(0, 31)),
      currency: fc.constantFrom('USD', 'EUR'),
      days: fc.integer({ min: 0, max: 31 }),
    },
    { requiredKeys: ['do', 'reference', 'item', 'quantity', 'currency'] },
  ),
  fc.record({
    do: fc.constant('topup' as const),
    reference,
    which,
    item: fc.constantFrom('es-1gb-7d', 'fr-1gb-7d'),
  }),
  fc.record({
    do: fc.constantFrom(
      'cancel' as const,
      'cancel' as const,
      'install',
      'expire',
      'uncheck',
      'refund',
      'lookup',
    ),
    which,
  }),
  fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(500, 1_000, 4_000) }),
);
const faults = fc.option(
  fc.constantFrom('lost_answer', 'html_502', '{"fault":"html_502","when":"before"}', 'reset'),
  {
    freq: 6,
    nil: undefined,
  },
);

const account: SandboxConfig['accounts'] = [
  {
    id: 'acme',
    balances: { USD: '300.00', EUR: '100.00' },
    keys: [{ name: 'main', value: 'sandbox-key-main' }],
  },
];

/** Takes one step, over HTTP or as the operator. Undefined: there is no answer to check. */
async function take(
  sandbox: Sandbox,
  caller: Caller,
  now: Step,
  fault: string | undefined,
): Promise<Reply | undefined> {
  const { orders, esims } = sandbox.ledger();
  const headers: Record<string, string> = fault === undefined ? {} : { 'sandbox-fault': fault };
  const iccid =
    'which' in now
      ? (esims[now.which % Math.max(1, esims.length)]?.iccid ?? '8999901000000099997')
      : '';
  const number =
    'which' in now ? (orders[now.which % Math.max(1, orders.length)]?.number ?? 'none') : '';
  const post = (path: string, body: object = {}) =>
    caller.post(path, body, headers).catch(() => undefined);
  switch (now.do) {
    case 'gift_card':
      return post(
        '/orders',
        giftCard(now.reference, {
          variant: now.item,
          quantity: now.quantity,
          currency: now.currency,
        }),
      );
    case 'esim':
      return post(
        '/esim/orders',
        esim(now.reference, {
          plan: now.item,
          quantity: now.quantity,
          currency: now.currency,
          days: now.days,
        }),
      );
    case 'topup':
      return post(`/esim/esims/${iccid}/topups`, {
        reference: now.reference,
        plan: now.item,
        currency: 'USD',
      });
    case 'cancel':
      return post(`/esim/esims/${iccid}/cancel`);
    case 'lookup':
      return caller.get(`/esim/orders/${number}`);
    case 'refund':
      await sandbox.operate((operator) => operator.refundOrder(number));
      return undefined;
    case 'wait':
      await sandbox.operate((operator) => operator.advanceClock(now.ms));
      return undefined;
    default: {
      const event = (
        { install: 'install', expire: 'expire', uncheck: 'fail_state_checks' } as const
      )[now.do];
      const happened = sandbox.operate((operator) =>
        operator.esimEvent(iccid, { event, times: 1 }),
      );
      // A cancelled or expired eSIM refuses it.
      await happened.catch((error: unknown) => {
        if (!String(error).includes('which is final')) throw error;
      });
      return undefined;
    }
  }
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/** The invariants of a ledger that are broken. */
function broken(ledger: SandboxLedger): string[] {
  const problems: string[] = [];
  const check = (holds: boolean, what: string): void => void (holds || problems.push(what));
  for (const { account: owner, currency, amount_minor: amount } of ledger.balances) {
    const own = ledger.movements.filter(
      (movement) => movement.account === owner && movement.currency === currency,
    );
    check(
      sum(own.map((movement) => movement.amount_minor)) === amount,
      `balance ${currency} is the sum of its movements`,
    );
    check(
      own.at(-1)?.balance_minor === amount,
      `the last movement in ${currency} left the balance`,
    );
    check(amount >= 0, `balance ${currency} is not negative`);
  }
  for (const order of ledger.orders) {
    const own = ledger.movements.filter((movement) => movement.order_number === order.number);
    const charges = own.filter((movement) => movement.kind === 'charge');
    const refunded = sum(
      own.filter((movement) => movement.kind === 'refund').map((movement) => movement.amount_minor),
    );
    check(
      charges.length === 1 && charges[0]?.amount_minor === -order.cost_minor,
      `${order.number} is charged once, its cost`,
    );
    check(
      refunded === order.refunded_minor && refunded <= order.cost_minor,
      `${order.number} is refunded at most its cost`,
    );
    check(
      (order.status === 'refunded') === (refunded === order.cost_minor),
      `${order.number} is refunded if all its money is back`,
    );
  }
  const names = ledger.orders.map((order) => `${order.account}/${order.reference}`);
  check(new Set(names).size === names.length, 'one order per reference');
  const refundedEsims = ledger.movements.filter(
    (movement) => movement.kind === 'refund' && movement.iccid !== null,
  );
  check(
    new Set(refundedEsims.map((movement) => movement.iccid)).size === refundedEsims.length,
    'an eSIM is refunded once',
  );
  for (const { available } of ledger.stock) check(available >= 0, 'stock is not negative');
  return problems;
}

const answered = z.looseObject({ number: z.string(), reference: z.string() });

describe('the sandbox under any calls in any order', () => {
  it('money, references, refunds and stock stay correct, and an error charges nothing', {
    timeout: 120_000,
  }, async () => {
    const sandbox = await startSandbox({
      accounts: account,
      fulfilment: { delay_ms: [1_000, 3_000] },
    });
    const caller = callerOf(sandbox);
    const scenario = fc.array(fc.tuple(step, faults), { minLength: 5, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(scenario, async (steps) => {
        await sandbox.operate((operator) => operator.reset());
        const numberOf = new Map<string, string>();
        for (const [now, fault] of steps) {
          const before = sandbox.ledger();
          const reply = await take(sandbox, caller, now, fault);
          const after = sandbox.ledger();
          expect(broken(after)).toEqual([]);
          if (reply === undefined) continue;
          // No step switches the API off, so a 503 would be an internal error of the sandbox.
          expect(reply.status).not.toBe(503);
          // After the 502 of a fault the order can be bought; every other error must have charged
          // nothing.
          const error = reply.status >= 400 && reply.status !== 502;
          expect(error ? after.movements.length : before.movements.length).toBe(
            before.movements.length,
          );
          const { data } = answered.safeParse(reply.json);
          if (data === undefined || now.do === 'cancel') continue;
          expect(numberOf.get(data.reference) ?? data.number).toBe(data.number);
          numberOf.set(data.reference, data.number);
        }
      }),
      { numRuns: 60 },
    );
  });

  it('the same holds when everything is called at once', { timeout: 120_000 }, async () => {
    const sandbox = await startSandbox({ accounts: account, latency: { before_ms: [0, 4] } });
    const caller = callerOf(sandbox);
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60 }), async (steps) => {
        await sandbox.operate((operator) => operator.reset());
        const middle = Math.ceil(steps.length / 2);
        for (const batch of [steps.slice(0, middle), steps.slice(middle)]) {
          const replies = await Promise.all(
            batch.map((now) => take(sandbox, caller, now, undefined)),
          );
          expect(replies.map((reply) => reply?.status)).not.toContain(503);
          expect(broken(sandbox.ledger())).toEqual([]);
        }
      }),
      { numRuns: 25 },
    );
  });

  it('the limits let in so many calls in any window, by the arrival times in the request log', {
    timeout: 120_000,
  }, async () => {
    const windowMs = 1_000;
    const caps = { requests: 6, orders: 3 };
    const sandbox = await startSandbox({ accounts: account });
    const caller = callerOf(sandbox);
    const calls = fc.array(fc.tuple(fc.boolean(), fc.constantFrom(0, 0, 0, 90, 300, 999, 1_000)), {
      minLength: 10,
      maxLength: 40,
    });
    await fc.assert(
      fc.asyncProperty(calls, async (steps) => {
        await sandbox.operate((operator) => {
          operator.reset();
          operator.change({ limits: { enabled: true, window_ms: windowMs, ...caps } });
        });
        for (const [spends, gapMs] of steps) {
          await sandbox.operate((operator) => operator.advanceClock(gapMs));
          const reply = await (spends
            ? caller.post('/orders', giftCard('same'))
            : caller.get('/balances'));
          expect([200, 201, 429]).toContain(reply.status);
        }
        const seen = sandbox.ledger().calls;
        expect(seen).toHaveLength(steps.length);
        const spends = (call: (typeof seen)[number]) => call.operation === 'gift_card_order';
        for (const [index, call] of seen.entries()) {
          const counted = seen
            .slice(0, index)
            .filter(
              (earlier) => earlier.limited === 0 && earlier.arrived_at > call.arrived_at - windowMs,
            );
          const isFull =
            counted.length >= caps.requests ||
            (spends(call) && counted.filter(spends).length >= caps.orders);
          expect({ at: index, limited: call.limited === 1 }).toEqual({
            at: index,
            limited: isFull,
          });
        }
      }),
      { numRuns: 60 },
    );
  });
});
