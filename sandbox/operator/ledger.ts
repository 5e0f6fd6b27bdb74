import type { ApiKey, Balance } from '../account/accounts.ts';
import { type Esim, type EsimState, stateOf } from '../orders/units.ts';
import type { Order } from '../orders/orders.ts';
import type { LoggedCall } from '../orders/request-log.ts';
import type { SandboxState } from '../orders/sandbox-state.ts';

type LedgerOrder = Omit<Order, 'id' | 'unit_minor' | 'codes' | 'due_at' | 'due_outcome'>;

type LedgerKey = {
  key: number;
  account: string;
  name: string;
  live: boolean;
  /**
   * When the calls arrived that the limits let in: all requests, and those that move money.
   * Milliseconds.
   */
  requests_at: number[];
  orders_at: number[];
  /** How many calls a limit answered 429. */
  limited: number;
  /** The most calls let in within any span of one window. */
  max_requests_in_window: number;
  max_orders_in_window: number;
};

/**
 * Everything that a sandbox has sold, charged and counted, for tests. Times are milliseconds,
 * amounts minor units.
 */
export type SandboxLedger = {
  now: number;
  window_ms: number;
  orders: LedgerOrder[];
  esims: Array<Esim & { state: EsimState }>;
  balances: Array<Balance & { account: string }>;
  movements: Array<{
    id: number;
    account: string;
    currency: string;
    amount_minor: number;
    kind: 'funding' | 'charge' | 'refund';
    order_number: string | null;
    iccid: string | null;
    balance_minor: number;
    created_at: number;
  }>;
  stock: Array<{ variant: string; available: number }>;
  keys: LedgerKey[];
  calls: LoggedCall[];
};

/** @internal */
export function readLedger({ clock, database, requestLog, settings }: SandboxState): SandboxLedger {
  const rows = <Row>(sql: string): Row[] => database.all<Row>(sql);
  const calls = requestLog.all();
  const now = clock.now();
  const windowMs = settings.limits.window_ms;
  return {
    now,
    window_ms: windowMs,
    orders: rows(
      `SELECT number, account, family, kind, reference, item, quantity, days, iccid, currency, cost_minor,
         refunded_minor, status, created_at FROM orders ORDER BY id`,
    ),
    esims: rows<Esim>('SELECT * FROM esims ORDER BY id').map((esim) => ({
      ...esim,
      state: stateOf(esim, now),
    })),
    balances: rows('SELECT * FROM balances ORDER BY account, currency'),
    movements: rows('SELECT * FROM movements ORDER BY id'),
    stock: rows('SELECT variant, available FROM stock ORDER BY variant'),
    keys: rows<ApiKey>('SELECT * FROM keys ORDER BY id').map((key) =>
      keyCounters(key, calls, windowMs),
    ),
    calls,
  };
}

/** The part of a ledger that belongs to one account. The stock is of all accounts. */
export function ledgerOf(account: string, ledger: SandboxLedger): SandboxLedger {
  const own = <Row extends { account: string }>(rows: Row[]): Row[] =>
    rows.filter((row) => row.account === account);
  const keys = own(ledger.keys);
  return {
    ...ledger,
    orders: own(ledger.orders),
    esims: own(ledger.esims),
    balances: own(ledger.balances),
    movements: own(ledger.movements),
    keys,
    calls: ledger.calls.filter((call) => keys.some(({ key }) => key === call.key)),
  };
}

function keyCounters(key: ApiKey, calls: LoggedCall[], windowMs: number): LedgerKey {
  const own = calls.filter((call) => call.key === key.id);
  const requestsAt = own
    .filter((call) => call.request_counted === 1)
    .map((call) => call.arrived_at);
  const ordersAt = own.filter((call) => call.order_counted === 1).map((call) => call.arrived_at);
  return {
    key: key.id,
    account: key.account,
    name: key.name,
    live: key.revoked_at === null,
    requests_at: requestsAt,
    orders_at: ordersAt,
    limited: own.filter((call) => call.limited === 1).length,
    max_requests_in_window: mostInAnyWindow(requestsAt, windowMs),
    max_orders_in_window: mostInAnyWindow(ordersAt, windowMs),
  };
}

/**
 * The most stamps within any span of one window. A stamp one whole window later is outside of it.
 */
export function mostInAnyWindow(stamps: readonly number[], windowMs: number): number {
  const ordered = stamps.toSorted((left, right) => left - right);
  let most = 0;
  let oldest = 0;
  for (const [index, stamp] of ordered.entries()) {
    while (stamp - (ordered[oldest] ?? stamp) >= windowMs) oldest += 1;
    most = Math.max(most, index - oldest + 1);
  }
  return most;
}
