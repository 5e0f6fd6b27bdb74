import { openReader } from '../../src/store/read/outbox-reader.ts';
import { median } from '../support/row.ts';

const rounds = 5;

/**
 * How long the worker needs for each of its answers to people: the median of some rounds, in ms,
 * the longest first.
 */
export function ownTimes(path: string): readonly { readonly what: string; readonly ms: number }[] {
  const reader = openReader(path);
  try {
    const first = reader.listOrders({ limit: 1, source: 'big', state: 'pending' })[0];
    const reference = reader.showOrder('big', first?.orderId ?? '')?.entries[0]?.reference ?? '';
    const limit = 51;
    const answers: Readonly<Record<string, () => unknown>> = {
      'counts by state': () => reader.counts(),
      backlog: () => reader.backlog(),
      'attention list': () => reader.attention(20),
      'attention counts': () => reader.attentionCounts(),
      pauses: () => reader.pauses(),
      'queue facts': () => reader.queueFacts(),
      'queued entry': () => reader.queuedEntry(reference),
      order: () => reader.showOrder(null, first?.orderId ?? ''),
      'list of all': () => reader.listOrders({ limit }),
      'list of pending': () => reader.listOrders({ limit, state: 'pending' }),
      'list of fulfilled': () => reader.listOrders({ limit, state: 'fulfilled' }),
      'list of expired': () => reader.listOrders({ limit, state: 'expired' }),
      'list of held': () => reader.listOrders({ limit, state: 'held' }),
      'list of a tiny shop': () => reader.listOrders({ limit, source: 'tiny' }),
      'list of a big shop and a state': () =>
        reader.listOrders({ limit, source: 'second', state: 'fulfilled' }),
      'list in attention': () => reader.listOrders({ limit, attention: true }),
      'search for an order id': () => reader.listOrders({ limit, search: 'order-77777' }),
      'search for the beginning of many ids': () => reader.listOrders({ limit, search: 'order-' }),
      'search for an e-mail address': () =>
        reader.listOrders({ limit, search: 'customer123@example.com' }),
      'search for a product of 5,000 orders': () => reader.listOrders({ limit, search: 'card-17' }),
      'search for the end of a code': () => reader.listOrders({ limit, search: '1234' }),
      'search for what is not there': () => reader.listOrders({ limit, search: 'nothing-like-it' }),
    };
    return Object.entries(answers)
      .map(([what, answer]) => ({
        what,
        ms: median(Array.from({ length: rounds }, () => timeOf(answer))),
      }))
      .toSorted((a, b) => b.ms - a.ms);
  } finally {
    reader.close();
  }
}

function timeOf(work: () => unknown): number {
  const begun = performance.now();
  work();
  return performance.now() - begun;
}
