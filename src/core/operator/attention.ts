import { counted } from '../counts.ts';
import { sentence } from '../message-text.ts';

/** The actions of an operator on a row of the attention list, each with its command. */
export const attentionActions = {
  ack: 'orders ack',
  balance: 'balance set',
  cancel: 'orders cancel',
  give: 'orders resolve --give',
  enter_units: 'orders resolve --as fulfilled --units',
  reconcile: 'reconcile',
  release: 'orders release',
  remap: 'orders reorder --remap',
  reorder: 'orders reorder',
  resolve: 'orders resolve',
  resume: 'queue resume',
  retry: 'orders retry',
  rewrite: 'results rewrite --sink',
  show: 'orders show',
  test: 'wire test --last submit',
  try: 'queue resume',
} as const;
export type AttentionAction = keyof typeof attentionActions;

/**
 * The part that waits until a row is gone, and a sentence for people in which actions are named.
 */
interface Meaning {
  /** Null: the scope of the row says that. */
  readonly holdsUp: string | null;
  readonly texts: readonly string[];
  /** One stands after each text but the last. */
  readonly actions: readonly AttentionAction[];
}

const holding =
  (stopped: string | null) =>
  (texts: TemplateStringsArray, ...actions: readonly AttentionAction[]): Meaning => ({
    holdsUp: stopped,
    texts,
    actions,
  });
const line = holding('this line');
const itsScope = holding(null);
const notBought = holding(
  'this line: its customer gets nothing',
)`correct the cause and order the line again with ${'reorder'} (with a corrected SKU map ${'remap'}), or refund it in the shop, then end this row with ${'ack'}`;

/**
 * Why a row stands in the attention list (the column `reason` of the view `outbox_attention`), and
 * what that means for operators. The only place with these sentences: the command line, the pages,
 * alerts and docs/reference/attention.md take them from here.
 */
export const attentionReasons = {
  needs_review: line`compare the line with the supplier's list, then settle it with ${'resolve'}, or try again with ${'retry'}`,
  held: line`release the line with ${'release'}, or end it with ${'cancel'}`,
  held_by_shop: line`the line is released when the shop shows its order as paid again; ${'release'} buys the line now`,
  over_limit: line`the worker buys the line when the limit, or the line's \`max_cost\`, allows it; ${'release'} buys it now, ${'cancel'} ends it`,
  held_as_same_line: line`if both lines are one purchase, end this line with ${'cancel'}; if not, buy it with ${'release'}`,
  outcome_unknown: holding(
    'this line; if a product has two such lines, all lines of this product',
  )`the worker looks the order up; ${'retry'} looks it up at once, ${'show'} lists the attempts`,
  older_copy: holding(
    'orders that came in after the copy was made: they are missing',
  )`have the shops send them again (docs/operating.md, Restore); the row ends by itself`,
  key_used_elsewhere: holding(
    'orders: another program uses their budget, and a worker with a copy of this outbox would buy them as well',
  )`stop the other worker or program that uses this key, or give this worker keys of its own; if there is no other program, lower \`wholesale.limits\` to those of the account. The row ends a day after the last 429`,
  lookup_unproven: holding(
    'lines with an unknown outcome and rejected lines: they need review',
  )`correct the path in \`wholesale.wire.lookup\`, then run \`order-sync check-config --reload\`; the row ends when a lookup finds the order`,
  balance_low: holding(
    'nothing yet; when the balance is 0, its orders wait',
  )`top up at the supplier, then enter the new balance with ${'balance'}`,
  limit_near: holding(
    'nothing yet; orders over the limit are held',
  )`check whether the shop really sold so much; if so, raise the limit under \`spend.limits\``,
  paused_by_person: itsScope`resume it with ${'resume'}`,
  connector_unproven: itsScope`correct \`wholesale.wire\` until ${'test'} ends with 0, then run \`order-sync check-config --reload\`; if the mapping is right, ${'resume'}`,
  api_unreachable: itsScope`if the supplier is down, wait: the worker tries again; if not, repair the connection`,
  wrong_address: itsScope`correct \`wholesale.base_url\` or \`wholesale.ca_file\`, then restart the worker`,
  key_denied: itsScope`replace the key and run \`order-sync check-config --reload\`, or ask the supplier; then ${'resume'}`,
  account_denied: itsScope`ask the supplier to allow this account, or the address of this machine; then ${'resume'}`,
  price_rose: itsScope`compare the new price with what the shop sells the product for; ${'resume'} accepts it, ${'cancel'} ends orders that are too expensive now`,
  balance_too_low: itsScope`top up at the supplier, then ${'resume'}`,
  key_of_other_account: itsScope`configure a key of the account that bought the orders; if you want to buy from the new account from now on, ${'resume'}`,
  product_refused: itsScope`ask the supplier why: the worker tries one order at a time. When the product can be bought, ${'resume'}, and order rejected lines again with ${'reorder'}. If the SKU map was wrong, end waiting lines with ${'cancel'}, and order all again with ${'remap'}`,
  paused: itsScope`read the answers of the API with ${'show'}, ask the supplier or correct \`wholesale.wire\`, then ${'resume'}`,
  sink_paused: holding(
    'results for this sink',
  )`repair the receiver or the folder: the worker tries again at least every five minutes, and at once with ${'try'}`,
  awaits_read_back: holding(
    'this order',
  )`check the keys of the shop's API, then read the shop with ${'reconcile'}`,
  awaits_recheck: holding(
    'the unsent lines of this order',
  )`repair the connection to the shop's API: the worker tries again; or end the lines with ${'cancel'}`,
  file_refused: holding(
    'every line of the file',
  )`correct the file and send it again, then end this row with ${'ack'}`,
  result_given_up: holding(
    'this result; if it is a CSV result, its orders also have JSON results',
  )`repair the receiver, then send the result again with ${'rewrite'}, or end this row with ${'ack'}`,
  gone_in_shop: holding(
    'nothing: the shop has deleted the order',
  )`if the order is paid, give the customer its units by hand, then end this row with ${'ack'}`,
  nobody_mailed: holding(
    'this order: its customer got no mail',
  )`give the customer the codes by hand, complete the order in the shop, then end this row with ${'ack'}`,
  rejected: notBought,
  expired: notBought,
  units_missing: holding(
    'this line: its customer waits for the units',
  )`enter the units with ${'enter_units'}, or give them by hand, then end this row with ${'ack'}`,
  shown_twice: holding(
    'nothing: the code was delivered, perhaps to the wrong customer',
  )`ask the supplier which order owns the code, replace the code in the other order, then end this row with ${'ack'}`,
  uncounted_cost: holding(
    'nothing; the amount spent does not include this order',
  )`see how the answer is read with ${'test'}, correct \`wholesale.wire.answer\`, then end this row with ${'ack'}`,
  line_refused: line`correct the line and send it again, or end this row with ${'ack'}`,
  other_content: holding(
    'nothing: the first content counts',
  )`compare the two contents in ${'show'}, then end this row with ${'ack'}`,
  sku_unknown: line`correct the SKU map or the SKU in the shop to buy the line; or end this row with ${'ack'}`,
  changed_in_shop: line`look at the order in the shop and decide what the customer gets (${'give'} gives a part), then end this row with ${'ack'}`,
  webhook_off: holding(
    "nothing: read-back brings the shop's orders, minutes later",
  )`switch the webhook on in the shop, or give the worker's key permission to write; the row ends by itself`,
  old_sale: holding(
    'nothing, if these orders were delivered before',
  )`if an order was not delivered to its customer, raise \`lookback_h\` or \`max_age_h\` of the shop, run \`order-sync check-config --reload\`, and read the shop with ${'reconcile'} \`--since\`; then end this row with ${'ack'}`,
  other_shop: holding(
    'the orders that name another shop',
  )`remove the webhook from the copy of the shop; or, if the address is right, add it to \`sites\`, run \`order-sync check-config --reload\`, and read the orders with ${'reconcile'} \`--since\`; then end this row with ${'ack'}`,
  delivery_unusable: holding(
    'the orders in such webhooks',
  )`do what the message says, look in the shop for paid orders that the worker lacks, then end this row with ${'ack'}`,
  skus_lost: holding(
    'the orders with these SKUs',
  )`put these SKUs back into the SKU map to buy the flagged orders; or end this row with ${'ack'}`,
  signature_refused: holding(
    "nothing: read-back brings the shop's orders, minutes later",
  )`copy the secret of the shop's webhooks into the file of \`secrets\`, then run \`order-sync check-config --reload\`; the row ends with the next signed webhook`,
  other_worker: holding(
    'every purchase for this shop',
  )`stop the other worker, then end this row with ${'ack'}: after that the held orders are bought`,
  waits_long: line`the worker tries this line again; or end it with ${'cancel'}`,
} satisfies Readonly<Record<string, Meaning>>;
export type AttentionReason = keyof typeof attentionReasons;

const asCommand = (action: AttentionAction): string => `\`${attentionActions[action]}\``;

/** The advice for a row. @param nameOf how an action is named; by default as its command */
export function whatToDo(reason: AttentionReason, nameOf = asCommand): string {
  const { texts, actions } = attentionReasons[reason];
  const parts = texts.flatMap((text, index) => [
    text,
    ...actions.slice(index, index + 1).map(nameOf),
  ]);
  return sentence(parts.join(''));
}

/** The part that waits until a row is gone. @param scope the paused scope */
export function holdsUp(reason: AttentionReason, scope: string | null): string {
  const { holdsUp: held } = attentionReasons[reason];
  if (held !== null) return held;
  if (scope === 'account') return 'everything that the worker would send';
  if (scope === 'family:gift_card') return 'gift card orders';
  if (scope === 'family:esim') return 'eSIM orders';
  if (scope?.startsWith('key:')) return 'calls with this key; if every key is paused, all calls';
  return scope?.startsWith('balance:')
    ? 'orders that are charged to this balance'
    : 'orders of this product';
}

/**
 * The facts about a row besides its columns: the column `evidence`. Which of them it has follows
 * from its reason.
 */
interface AttentionEvidence {
  readonly file?: string;
  readonly sink?: string;
  readonly tries?: number;
  readonly units_missing?: number;
  readonly quantity?: number;
  readonly resolved_by?: string;
  readonly order_number?: string | null;
  readonly line_number?: number | null;
  readonly field?: string | null;
  readonly last_at?: string;
  readonly reference?: string;
  readonly path?: string;
  /** Of a flag about a whole shop: how often it happened. */
  readonly count?: string | null;
}

/** A row of the view, as far as it says what happened. */
interface Happened {
  readonly reason: AttentionReason;
  /** The message of the API, a shop, a receiver or a rule. */
  readonly message: string | null;
  readonly scope: string | null;
  readonly evidence: AttentionEvidence;
}

/** What happened, for a surface that makes a sentence of it; null where the code says it all. */
export function attentionMessage({ reason, message, scope, evidence }: Happened): string | null {
  switch (reason) {
    case 'product_refused':
      return `the supplier refuses this product, so its other lines wait instead of being rejected. ${message ?? ''}`;
    case 'key_used_elsewhere':
      return `the API answers 429 to ${scope ?? ''} although this worker keeps within the limits; the last 429 came at ${evidence.last_at ?? ''}`;
    case 'lookup_unproven':
      return `a lookup at ${evidence.path ?? ''} does not find the order ${evidence.reference ?? ''}, which was bought`;
    case 'sink_paused':
      return `the sink ${scope ?? ''} takes no results: ${message ?? ''}`;
    case 'awaits_read_back':
      return "the shop's webhook did not have the whole order, or did not say which line was refunded or whether the SKU of a variation is that of its product: nothing of the order is bought or cancelled until the shop is read back";
    case 'awaits_recheck': {
      const problem = message === null ? '' : `: ${message}`;
      return `the order must be read again from the shop before it is bought, but this has failed so far${problem}`;
    }
    case 'file_refused':
      return `the file ${evidence.file ?? ''} was refused: ${message ?? ''}`;
    case 'result_given_up':
    case 'gone_in_shop':
    case 'nobody_mailed':
      return `the sink ${evidence.sink ?? ''} did not take ${evidence.file ?? 'the result'} (${counted(evidence.tries ?? 0, 'try', 'tries')}): ${message ?? ''}`;
    case 'units_missing':
      return unitsMissing(evidence);
    case 'uncounted_cost':
      return `the cost of the order is not a plain amount: ${message ?? ''}`;
    case 'line_refused':
    case 'other_content':
    case 'sku_unknown':
    case 'changed_in_shop': {
      const { line_number: lineNumber = null, field = null } = evidence;
      const place = lineNumber === null ? '' : `line ${lineNumber} of the file, `;
      return `${place}${field === null ? '' : `${field}: `}${message ?? ''}`;
    }
    default:
      return Number(evidence.count) > 1 ? `${message ?? ''} (${evidence.count} times)` : message;
  }
}

function unitsMissing(evidence: AttentionEvidence): string {
  const {
    units_missing: missing = 0,
    quantity = 1,
    resolved_by: operator = '',
    order_number: number = null,
  } = evidence;
  const order = number === null ? '' : `, as order ${number}`;
  return `${operator} found that the line was bought${order}, but ${missing} of ${counted(quantity, 'unit')} ${missing === 1 ? 'is' : 'are'} not in the outbox`;
}
