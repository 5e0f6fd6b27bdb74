import { messageText } from '../../core/message-text.ts';
import { type Fields, idOf, isObject } from './payload-values.ts';

const envelope = /^(?:orders?|order_edit|data|payload|body|arg)$/;
const ofOrders = /^(?:orders?|order_key|date_paid|date_paid_gmt|financial_status)$/;
const otherAction = /cart|coupon|customer|product|stock|subscription|user/;

/**
 * What is wrong with a signed delivery that should have an order, and the orders that it names.
 * Null: it is about something else.
 */
export function unusableDelivery(document: unknown, topic: string) {
  const parts = partsOf(document, 3);
  const ids = parts.flatMap(
    ({ order_id: order, arg, id }) => idOf(order) ?? idOf(arg) ?? idOf(id) ?? [],
  );
  const names = parts.flatMap(Object.keys);
  const [{ action, code, message } = {}] = parts;
  const found = (kind: string, advice: string, problem: string) => {
    const rule = messageText(`${advice}: the delivery ${topic} ${ids[0] ?? ''} ${problem}`);
    return { ids, code: `unusable_${kind}`, rule };
  };
  if (typeof action === 'string' && names.includes('arg')) {
    if (otherAction.test(action) && !action.includes('order')) return null;
    return found(
      'action',
      'choose the topic "Order updated" for the webhook',
      `names the action ${action}, no order`,
    );
  }
  if (topic !== '' && !/order/i.test(topic)) return null;
  if (document === 'too_large')
    return found(
      'too_large',
      'shorten the fields that plugins add to orders',
      'has more than 8 MiB',
    );
  if (document === undefined)
    return found('not_json', 'find what changes webhooks on their way', 'is no JSON in UTF-8');
  if (typeof code === 'string' && typeof message === 'string') {
    const advice = 'recreate the webhook as a user with permission to view orders';
    return found('rest_error', advice, `has the error "${code}: ${message}"`);
  }
  // A topic that is missing or unknown does not say what it is. A subscription has the fields of an
  // order.
  const isSure = /^orders?[./]/i.test(topic) || names.some((name) => ofOrders.test(name));
  if (!isSure || names.includes('billing_period')) return null;
  return found(
    'no_order',
    'set up the webhook to send all fields of an order',
    `has only the fields "${names.join()}"`,
  );
}

/** The objects of a document, also those of a list and in envelopes. */
function partsOf(value: unknown, depth: number): readonly Fields[] {
  if (depth === 0) return [];
  if (Array.isArray(value)) return value.slice(0, 100).flatMap((item) => partsOf(item, depth - 1));
  if (!isObject(value)) return [];
  return [
    value,
    ...Object.keys(value).flatMap((key) =>
      envelope.test(key) ? partsOf(value[key], depth - 1) : [],
    ),
  ];
}
