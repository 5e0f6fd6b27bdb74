import { describe, expect, it } from 'vitest';
import { errorRows } from '../../test/support/sandbox-errors.ts';
import type { SandboxConfig } from '../settings/config.ts';
import type { Sandbox } from '../create-sandbox.ts';
import {
  buyEsim,
  type Caller,
  callerOf,
  esim,
  giftCard,
  mainKey,
  type Reply,
  refusalOf,
  startSandbox,
} from './running-sandbox.ts';

type Case = {
  row: string;
  family: 'gift_card' | 'esim';
  config?: SandboxConfig;
  /** Runs before `provoke` and passes its result on. */
  prepare?: (caller: Caller) => Promise<unknown>;
  provoke: (caller: Caller, sandbox: Sandbox, prepared: string) => Promise<Reply>;
};

const account = (more: object): SandboxConfig => ({
  accounts: [{ id: 'acme', keys: [{ name: 'main', value: mainKey }], ...more }],
});
const topup = (reference: string, more: object = {}): object => ({
  reference,
  plan: 'es-1gb-7d',
  currency: 'USD',
  ...more,
});

/** Every row of the table of Spec 7, in each family of its family column. */
const cases: Case[] = [
  {
    row: '401 invalid_key',
    family: 'gift_card',
    provoke: (_, sandbox) => callerOf(sandbox, null).post('/orders', giftCard('a')),
  },
  {
    row: '401 invalid_key',
    family: 'esim',
    provoke: (_, sandbox) => callerOf(sandbox, 'wrong').post('/esim/orders', esim('a')),
  },
  {
    row: '403 account_not_allowed',
    family: 'gift_card',
    config: account({ blocked: true }),
    provoke: (caller) => caller.post('/orders', giftCard('a')),
  },
  {
    row: '403 account_not_allowed',
    family: 'esim',
    config: account({ wholesale: false }),
    provoke: (caller) => caller.post('/esim/orders', esim('a')),
  },
  ...(['gift_card', 'esim'] as const).map(
    (family): Case => ({
      row: '403 ip_not_allowed',
      family,
      config: account({
        keys: [{ name: 'main', value: mainKey, allow_list: ['203.0.113.7', '2001:db8::7'] }],
      }),
      provoke: (caller) =>
        family === 'esim' ? caller.get('/esim/destinations') : caller.get('/products'),
    }),
  ),
  { row: '404 not_found', family: 'gift_card', provoke: (caller) => caller.get('/orders/nowhere') },
  { row: '404 not_found', family: 'esim', provoke: (caller) => caller.get('/esim/orders/nowhere') },
  {
    row: '404 not_found',
    family: 'esim',
    provoke: (caller) => caller.get('/esim/destinations/atlantis/plans'),
  },
  {
    row: '404 not_found',
    family: 'esim',
    provoke: (caller) => caller.get('/esim/esims/8999901000000099997/topups'),
  },
  {
    row: '404 not_found',
    family: 'esim',
    provoke: (caller) => caller.post('/esim/esims/8999901000000099997/cancel'),
  },
  {
    row: '402 insufficient_balance',
    family: 'gift_card',
    provoke: (caller) => caller.post('/orders', giftCard('a', { variant: 'test-expensive' })),
  },
  {
    row: '402 insufficient_balance',
    family: 'esim',
    provoke: (caller) => caller.post('/esim/orders', esim('a', { plan: 'test-plan-expensive' })),
  },
  {
    row: '409 reference_in_use',
    family: 'gift_card',
    prepare: (caller) => caller.post('/esim/orders', esim('a')),
    provoke: (caller) => caller.post('/orders', giftCard('a')),
  },
  {
    row: '409 reference_in_use',
    family: 'esim',
    prepare: (caller) => caller.post('/orders', giftCard('a')),
    provoke: (caller) => caller.post('/esim/orders', esim('a')),
  },
  {
    row: '422 currency_unavailable',
    family: 'gift_card',
    provoke: (caller) =>
      caller.post('/orders', giftCard('a', { variant: 'test-usd-only', currency: 'EUR' })),
  },
  {
    row: '422 currency_unavailable',
    family: 'esim',
    provoke: (caller) => caller.post('/esim/orders', esim('a', { currency: 'GBP' })),
  },
  {
    row: '422 invalid_request',
    family: 'gift_card',
    provoke: (caller) => caller.post('/orders', giftCard('a', { quantity: 'two' })),
  },
  {
    row: '422 invalid_request',
    family: 'esim',
    provoke: (caller) =>
      caller.post('/esim/orders', { plan: 'es-1gb-7d', quantity: 1, currency: 'USD' }),
  },
  {
    row: '422 order_refused',
    family: 'gift_card',
    provoke: (caller) => caller.post('/orders', giftCard('a', { variant: 'test-refused' })),
  },
  {
    row: '422 order_refused',
    family: 'esim',
    provoke: (caller) => caller.post('/esim/orders', esim('a', { plan: 'test-plan-refused' })),
  },
  ...(['gift_card', 'esim'] as const).map(
    (family): Case => ({
      row: '429 rate_limited',
      family,
      config: { limits: { enabled: true, orders: 1 } },
      prepare: (caller) => caller.post('/orders', giftCard('a')),
      provoke: (caller) =>
        family === 'esim'
          ? caller.post('/esim/orders', esim('b'))
          : caller.post('/orders', giftCard('b')),
    }),
  ),
  {
    row: '503 api_disabled',
    family: 'gift_card',
    config: { maintenance: true },
    provoke: (caller) => caller.get('/products'),
  },
  {
    row: '503 api_disabled',
    family: 'esim',
    config: { maintenance: true },
    provoke: (caller) => caller.post('/esim/orders', esim('a')),
  },
  {
    row: '404 invalid_variant',
    family: 'gift_card',
    provoke: (caller) => caller.post('/orders', giftCard('a', { variant: 'no-such-thing' })),
  },
  {
    row: '409 out_of_stock',
    family: 'gift_card',
    provoke: (caller) =>
      caller.post('/orders', giftCard('a', { variant: 'test-few-left', quantity: 4 })),
  },
  ...[6, 2_000_000_000, 1e300].map(
    (quantity): Case => ({
      row: '422 limit_exceeded',
      family: 'gift_card',
      provoke: (caller) =>
        caller.post('/orders', giftCard('a', { variant: 'test-limit-5', quantity })),
    }),
  ),
  {
    row: '422 not_api_sellable',
    family: 'gift_card',
    provoke: (caller) => caller.post('/orders', giftCard('a', { variant: 'test-website-only' })),
  },
  {
    row: '404 invalid_plan',
    family: 'esim',
    provoke: (caller) => caller.post('/esim/orders', esim('a', { plan: 'no-such-plan' })),
  },
  {
    row: '422 invalid_plan',
    family: 'esim',
    provoke: (caller) => caller.post('/esim/orders', esim('a', { plan: 'test-plan-off-sale' })),
  },
  ...[0, 31, -1, 2_000_000_000, 1e300].map(
    (quantity): Case => ({
      row: '422 invalid_plan',
      family: 'esim',
      provoke: (caller) => caller.post('/esim/orders', esim('a', { quantity })),
    }),
  ),
  ...[undefined, 2, 11, 0, -5, 2_000_000_000, 1e300].map(
    (days): Case => ({
      row: '422 invalid_plan',
      family: 'esim',
      provoke: (caller) =>
        caller.post('/esim/orders', esim('a', { plan: 'test-plan-daily', days })),
    }),
  ),
  {
    row: '422 topup_not_allowed',
    family: 'esim',
    prepare: (caller) => buyEsim(caller, 'e'),
    provoke: (caller, _, iccid) =>
      caller.post(`/esim/esims/${iccid}/topups`, topup('a', { plan: 'fr-1gb-7d' })),
  },
  {
    row: '422 topup_not_allowed',
    family: 'esim',
    async prepare(caller) {
      const iccid = await buyEsim(caller, 'e');
      await caller.post(`/esim/esims/${iccid}/cancel`);
      return iccid;
    },
    provoke: (caller, _, iccid) => caller.post(`/esim/esims/${iccid}/topups`, topup('a')),
  },
  {
    row: '422 topup_not_allowed',
    family: 'esim',
    prepare: (caller) => buyEsim(caller, 'e', { plan: 'test-plan-expired' }),
    provoke: (caller, _, iccid) =>
      caller.post(`/esim/esims/${iccid}/topups`, topup('a', { plan: 'test-plan-fixed' })),
  },
  {
    row: '409 not_cancellable',
    family: 'esim',
    prepare: (caller) => buyEsim(caller, 'e', { plan: 'test-plan-installed' }),
    provoke: (caller, _, iccid) => caller.post(`/esim/esims/${iccid}/cancel`),
  },
];

describe('every row of the error table can be reached with ordinary calls', () => {
  for (const [index, { row, family, config, prepare, provoke }] of cases.entries()) {
    it(`a call gets ${row} on ${family} endpoints and charges nothing (case ${index + 1})`, async () => {
      const sandbox = await startSandbox(config);
      const caller = callerOf(sandbox);
      const result = await prepare?.(caller);
      const prepared = typeof result === 'string' ? result : '';
      const before = sandbox.ledger();
      expect(refusalOf(await provoke(caller, sandbox, prepared))).toBe(row);
      const { orders, movements, balances, esims, stock } = sandbox.ledger();
      expect({ orders, movements, balances, esims, stock }).toEqual({
        orders: before.orders,
        movements: before.movements,
        balances: before.balances,
        esims: before.esims,
        stock: before.stock,
      });
    });
  }

  it('every row of the table has a case here in each of its families', () => {
    const reached = new Set(cases.map(({ row, family }) => `${row} ${family}`));
    const wanted = errorRows.flatMap(({ status, code, family }) =>
      (family === 'both' ? ['gift_card', 'esim'] : [family]).map(
        (name) => `${status} ${code} ${name}`,
      ),
    );
    expect(wanted.filter((row) => !reached.has(row))).toEqual([]);
    expect(errorRows).toHaveLength(19);
  });
});
