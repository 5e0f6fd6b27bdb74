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
)`correct its cause and order it again with ${'reorder'} (with a corrected SKU map ${'remap'}), or refund it in the shop, then end this row with ${'ack'}`;

/**
 * Why a row stands in the attention list (the column `reason` of the view `outbox_attention`), and
 * what that means for operators. The only place with these sentences: the command line, the pages,
 * alerts and docs/reference/attention.md take them from here.
 */
export const attentionReasons = {
  needs_review: line`compare it with the supplier's list, then settle it with ${'resolve'}, or try again with ${'retry'}`,
  held: line`release it with ${'release'}, or end it with ${'cancel'}`,
  held_by_shop: line`it is released when its shop shows the order as paid again; ${'release'} buys it now`,
  over_limit: line`it is bought by itself when the limit, or its \`max_cost\`, allows it again; ${'release'} buys it now, ${'cancel'} ends it`,
  held_as_same_line: line`if it is another purchase, buy it with ${'release'}; if both are one, end it with ${'cancel'}`,
  outcome_unknown: holding(
    'this line; with two such lines, their product',
  )`the worker looks it up; ${'retry'} does it at once, ${'show'} has the attempts`,
  older_copy: holding(
    'orders that came after the copy was made: they are missing',
  )`have the shops send them again (docs/operating.md, Restore); the row ends by itself`,
  key_used_elsewhere: holding(
    'orders: their budget is shared, and a copy of this outbox elsewhere would buy them as well',
  )`stop the other worker or program that uses this key, or give this worker keys of its own; where there is none, lower \`wholesale.limits\` to those of the account. The row ends a day after the last 429`,
  lookup_unproven: holding(
    'lines with an unknown outcome, and refused ones: they need review',
  )`correct the path in \`wholesale.wire.lookup\`, then \`reload\`; the row ends when a lookup finds the order`,
  balance_low: holding(
    'nothing yet; at 0, what is charged to it waits',
  )`top up at the supplier, then enter the new balance with ${'balance'}`,
  limit_near: holding(
    'nothing yet; orders over the limit are held',
  )`look whether the shop really sold so much; if so, raise the limit under \`spend.limits\``,
  paused_by_person: itsScope`resume it with ${'resume'}`,
  connector_unproven: itsScope`correct \`wholesale.wire\` until ${'test'} ends with 0, then \`check-config --reload\`; if it is right, ${'resume'}`,
  api_unreachable: itsScope`wait if the supplier is down: the worker tries again; else repair the connection`,
  wrong_address: itsScope`correct \`wholesale.base_url\` or \`wholesale.ca_file\`, then restart the worker`,
  key_denied: itsScope`replace the key and \`check-config --reload\`, or ask the supplier; then ${'resume'}`,
  account_denied: itsScope`ask the supplier to allow this account, or the address of this machine; then ${'resume'}`,
  price_rose: itsScope`compare the new price with what the shop sells the product for; ${'resume'} accepts it, ${'cancel'} ends orders that are not worth it`,
  balance_too_low: itsScope`top up at the supplier, then ${'resume'}`,
  key_of_other_account: itsScope`configure a key of the account that bought the orders; if this account is right from now on, ${'resume'}`,
  product_refused: itsScope`ask the supplier why: the worker tries one order at a time. Once it can be bought, ${'resume'}, and order the refused lines again with ${'reorder'}. If the SKU map was wrong, end the lines that wait with ${'cancel'}, and order all again with ${'remap'}`,
  paused: itsScope`read the answers in ${'show'}, ask the supplier or correct \`wholesale.wire\`, then ${'resume'}`,
  sink_paused: holding(
    'what is sent there',
  )`repair the receiver or the folder: the worker tries again at least every five minutes, and at once with ${'try'}`,
  awaits_read_back: holding(
    'this order',
  )`check the keys of the shop's API, then read it with ${'reconcile'}`,
  awaits_recheck: holding(
    'the unsent lines of this order',
  )`repair the connection to the shop's API: the worker tries again; or end it with ${'cancel'}`,
  file_refused: holding(
    'every line of the file',
  )`correct the file and send it again, then end this row with ${'ack'}`,
  result_given_up: holding(
    'this result; the orders of a CSV file also have their JSON results',
  )`repair the receiver and write it again with ${'rewrite'}, or end this row with ${'ack'}`,
  gone_in_shop: holding(
    'nothing: the shop has deleted the order',
  )`give the units by hand if it is paid, then end this row with ${'ack'}`,
  nobody_mailed: holding(
    'this order: its customer got no mail',
  )`give the codes of its note by hand, complete it in the shop, then end this row with ${'ack'}`,
  rejected: notBought,
  expired: notBought,
  units_missing: holding(
    'this line: its customer waits for the units',
  )`enter the units with ${'enter_units'}, or give them by hand, then end this row with ${'ack'}`,
  shown_twice: holding(
    'nothing: it was delivered, perhaps to the wrong customer',
  )`ask the supplier whose it is, replace the wrong one, then end this row with ${'ack'}`,
  uncounted_cost: holding(
    'nothing; the amount spent leaves it out',
  )`read the answer with ${'test'}, correct \`wholesale.wire.answer\`, then end this row with ${'ack'}`,
  line_refused: line`correct the line and send it again, or end this row with ${'ack'}`,
  other_content: holding(
    'nothing: the first content counts',
  )`compare both in ${'show'}, then end this row with ${'ack'}`,
  sku_unknown: line`correct the SKU map or the SKU in the shop, and it is bought; or end this row with ${'ack'}`,
  changed_in_shop: line`look at the order in the shop and decide what becomes of it (${'give'} gives a part of it), then end this row with ${'ack'}`,
  webhook_off: holding(
    'nothing: read-back brings its orders, minutes later',
  )`switch it on in the shop, or give the worker's key the right to write; the row ends by itself`,
  old_sale: holding(
    'nothing, if these orders were delivered before',
  )`if one was not, raise \`lookback_h\` or \`max_age_h\` of the shop, \`check-config --reload\`, and read it with ${'reconcile'} \`--since\`; then end this row with ${'ack'}`,
  other_shop: holding(
    'the orders that name another shop',
  )`remove the webhook from the copy of the shop; or, if the address is right, add it to \`sites\`, \`check-config --reload\`, and read the orders with ${'reconcile'} \`--since\`; then end this row with ${'ack'}`,
  delivery_unusable: holding(
    'the orders of such deliveries',
  )`do what the message says, look in the shop for paid orders that are missing here, then end this row with ${'ack'}`,
  skus_lost: holding(
    'the orders with these SKUs',
  )`put them back into the SKU map, and flagged orders are bought; or end this row with ${'ack'}`,
  signature_refused: holding(
    'nothing: read-back brings its orders, minutes later',
  )`copy the secret of its webhooks into the file of \`secrets\` and \`check-config --reload\`; the row ends with the next signed webhook`,
  other_worker: holding(
    'every purchase for this shop',
  )`stop the other worker, then end this row with ${'ack'}: the held orders are bought`,
  waits_long: line`the worker tries it again; or end it with ${'cancel'}`,
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
  if (scope === 'account') return 'everything that is to be sent';
  if (scope === 'family:gift_card') return 'gift card orders';
  if (scope === 'family:esim') return 'eSIM orders';
  if (scope?.startsWith('key:'))
    return 'what is sent with this key; with every key paused, everything';
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
      return `the API answers 429 to ${scope ?? ''} although this worker keeps within the limits, last at ${evidence.last_at ?? ''}`;
    case 'lookup_unproven':
      return `a lookup at ${evidence.path ?? ''} does not find the order ${evidence.reference ?? ''}, which was bought`;
    case 'sink_paused':
      return `the sink ${scope ?? ''} takes no results: ${message ?? ''}`;
    case 'awaits_read_back':
      return 'the delivery had no whole order, did not say which line was refunded, or whose SKU a variation shows: nothing of the order is bought or cancelled until the shop is read back';
    case 'awaits_recheck': {
      const problem = message === null ? '' : `: ${message}`;
      return `it is read again from the shop before it is bought, and that did not succeed yet${problem}`;
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
      return `its cost is no plain amount: ${message ?? ''}`;
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
  return `${missing} of ${counted(quantity, 'unit')} ${missing === 1 ? 'is' : 'are'} not in the outbox: ${operator} found that it was bought${order}`;
}
