import { OrderSyncError } from '../core/order-sync-error.ts';
import { readDuration } from './option-values.ts';
import type { SandboxRequest } from './sandbox-client.ts';

interface EventOptions {
  readonly times: number;
  readonly operation?: string;
  readonly account?: string;
}

interface SandboxEvent {
  /** The name of the argument; null: the event has none. */
  readonly subject: string | null;
  readonly about: string;
  request(subject: string, options: EventOptions): SandboxRequest;
}

const post = (path: string, body: unknown = {}): SandboxRequest => ({ method: 'POST', path, body });
const part = encodeURIComponent;

/** The events that a sandbox can perform on request, at the supplier or for an eSIM. */
export const sandboxEvents: Readonly<Record<string, SandboxEvent>> = {
  deliver: {
    subject: 'order number',
    about: 'delivers a pending order now',
    request: (order) => post(`/orders/${part(order)}/deliver`),
  },
  refund: {
    subject: 'order number',
    about: 'refunds an order, and cancels its eSIMs',
    request: (order) => post(`/orders/${part(order)}/refund`),
  },
  install: {
    subject: 'ICCID',
    about: 'installs an eSIM',
    request: (iccid) => post(`/esims/${part(iccid)}`, { event: 'install' }),
  },
  expire: {
    subject: 'ICCID',
    about: 'lets an eSIM expire',
    request: (iccid) => post(`/esims/${part(iccid)}`, { event: 'expire' }),
  },
  'fail-state-checks': {
    subject: 'ICCID',
    about: 'lets the next checks of its state fail, --times of them',
    request: (iccid, { times }) => post(`/esims/${part(iccid)}`, { event: 'fail_state_checks', times }),
  },
  block: {
    subject: 'account',
    about: 'blocks an account: 403 account_not_allowed',
    request: (account) => post(`/accounts/${part(account)}`, { blocked: true }),
  },
  unblock: {
    subject: 'account',
    about: 'ends that',
    request: (account) => post(`/accounts/${part(account)}`, { blocked: false }),
  },
  'revoke-key': {
    subject: 'account/key',
    about: 'revokes a key, named as acme/main: 401 invalid_key',
    request(subject) {
      const [account = '', ...key] = subject.split('/');
      return post(`/accounts/${part(account)}/keys/${part(key.join('/'))}/revoke`);
    },
  },
  'sell-out': {
    subject: 'variant',
    about: 'sells the rest of the stock: 409 out_of_stock',
    request: (variant) => post(`/items/${part(variant)}`, { stock: 0 }),
  },
  'off-sale': {
    subject: 'plan',
    about: 'takes a plan off sale: 422 invalid_plan',
    request: (plan) => post(`/items/${part(plan)}`, { on_sale: false }),
  },
  'on-sale': {
    subject: 'plan',
    about: 'ends that',
    request: (plan) => post(`/items/${part(plan)}`, { on_sale: true }),
  },
  fault: {
    subject: 'fault',
    about: 'spoils the next calls, --times of them, of any --operation and --account',
    request: (fault, { times, operation, account }) =>
      post('/faults', { fault: { fault }, times, match: { operation, account } }),
  },
  'clear-faults': {
    subject: null,
    about: 'ends all rules of faults',
    request: () => ({ method: 'DELETE', path: '/faults' }),
  },
  advance: {
    subject: 'duration',
    about: 'moves its clock forward, for example by 30s, 10min, 2h or 7d: orders are delivered, eSIMs expire',
    request(duration) {
      const ms = readDuration(duration);
      if (ms !== null) return post('/clock', { advance_ms: ms });
      throw new OrderSyncError('USAGE', `${duration} is no duration`, { hint: 'for example 30s, 10min, 2h or 7d' });
    },
  },
  reset: {
    subject: null,
    about: 'empties it: orders, money, faults and clock are as at its first start',
    request: () => post('/reset'),
  },
  maintenance: {
    subject: null,
    about: 'switches the API off: 503 api_disabled',
    request: () => ({ method: 'PATCH', path: '/settings', body: { maintenance: true } }),
  },
  'end-maintenance': {
    subject: null,
    about: 'ends that',
    request: () => ({ method: 'PATCH', path: '/settings', body: { maintenance: false } }),
  },
};
