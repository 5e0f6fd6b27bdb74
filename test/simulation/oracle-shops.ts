import { unitText } from './api-answers.ts';
import type { ResultDocument, ResultLine } from '../../src/core/result/result-document.ts';
import type { AcceptableLine } from '../../src/core/order/order-request.ts';
import { listIn } from '../support/shops/shop-order.ts';
import type { ShopOrderPlan } from './intake-plan.ts';
import { referencesOf } from './line-references.ts';
import type { SimWrittenShop } from './sim-written-shop.ts';
import type { World } from './world.ts';
import type { Invariant } from './invariants.ts';

type Stage = 'done' | 'review' | 'open';

/** States of a line that nobody has to act on, and of which its customer gets nothing. */
const open: ReadonlySet<string> = new Set([
  'pending',
  'sending',
  'waiting',
  'unknown',
  'placed',
  'cancelled',
]);

const unitsOf = (line: ResultLine): readonly string[] =>
  line.entries.flatMap((entry) => entry.units.map(unitText));

function stageOf(line: ResultLine, quantity: number): Stage {
  if (line.state === 'fulfilled') return unitsOf(line).length === quantity ? 'done' : 'review';
  return open.has(line.state) ? 'open' : 'review';
}

/**
 * What became of an order of a shop besides; `refunded`: in part, so how much of it was bought
 * depends on when.
 */
type Change = ReturnType<SimWrittenShop['edits']['get']> | 'refunded';

/** What its shop did to an order, or its people. */
function changeOf(shop: SimWrittenShop, plan: ShopOrderPlan, orderId: string): Change {
  const kind = plan.change?.kind;
  if (kind === 'cancelled' || kind === 'refunded') return 'cancelled';
  return kind === undefined || kind === 'address' ? shop.edits.get(orderId) : 'refunded';
}

/** What an order of a shop must show. */
interface Expected {
  readonly document: ResultDocument;
  readonly orderId: string;
  readonly plan: ShopOrderPlan;
  readonly edit: Change;
  readonly stages: ReadonlyMap<string, Stage>;
  /**
   * The lines whose customer gets their units: the order has at least as many pieces as were
   * bought.
   */
  readonly given: readonly AcceptableLine[];
  /**
   * The line of which the order has fewer pieces than were bought; whether it was given depends on
   * when.
   */
  readonly lowered: AcceptableLine | null;
  /** It was bought after that, so it must not be given. */
  readonly isWithheld: boolean;
  readonly codes: readonly string[];
  readonly isTold: boolean;
  /** All that can be read in the order. */
  readonly text: string;
  readonly violate: (invariant: Invariant, sentence: string) => void;
}

/**
 * Checks an order of a shop against its result.
 * @param isWritten the delivery ended well: what must be written is there
 */
export function checkWrittenOrder(
  world: World,
  shop: SimWrittenShop,
  document: ResultDocument,
  isWritten: boolean,
): void {
  const { order_id: orderId } = document;
  const plan = shop.plan.orders.find(({ lines }) => lines[0]?.orderId === orderId);
  const shown = shop.orderOf(orderId);
  if (plan === undefined || shown === undefined) return;
  const edit = changeOf(shop, plan, orderId);
  const lines = new Map(document.lines.map((line) => [line.line_id ?? '', line]));
  const stages = new Map(
    plan.lines.flatMap(({ lineId, quantity }): [string, Stage][] => {
      const line = lines.get(lineId);
      return line === undefined ? [] : [[lineId, stageOf(line, quantity ?? 1)]];
    }),
  );
  const lowered = edit === 'lowered' ? (plan.lines[0] ?? null) : null;
  const given = plan.lines.filter((line) => line !== lowered && stages.get(line.lineId) === 'done');
  const fields =
    shop.kind === 'shopify'
      ? [...(shop.shopify.metafields.get(orderId) ?? [])]
      : shop.woocommerce.notesOf(orderId);
  const codesOfLine = ({ lineId }: AcceptableLine): readonly string[] => {
    const line = lines.get(lineId);
    return line === undefined ? [] : unitsOf(line);
  };
  const loweredMs = shop.loweredAtMs.get(orderId) ?? Number.POSITIVE_INFINITY;
  const references =
    lines.get(lowered?.lineId ?? '')?.entries.map(({ reference }) => reference) ?? [];
  const expected: Expected = {
    document,
    lowered,
    isWithheld: references.every(
      (reference) => (world.api.ledger.find(reference)?.atMs ?? 0) > loweredMs,
    ),
    orderId,
    plan,
    edit,
    stages,
    given,
    codes: given.flatMap(codesOfLine),
    isTold: [...stages.values()].some((stage) => stage !== 'open'),
    text: JSON.stringify([shown.body, fields]),
    violate: (invariant, sentence) =>
      world.violate(invariant, `${shop.kind} order ${orderId}: ${sentence}`),
  };
  checkForeign(world, shop, expected);
  const withheld = lowered !== null && expected.isWithheld ? codesOfLine(lowered) : [];
  if (withheld.length > 0) world.coverage.hit(`${shop.kind} withheld`);
  if (!shop.ofLostOutbox.has(orderId) && withheld.some((code) => expected.text.includes(code)))
    expected.violate('I42', 'shows codes of a line of which it has fewer pieces than were bought');
  if (shop.plan.platform === 'woocommerce') checkNotes(shop, expected);
  else checkFulfilments(shop, expected, isWritten, codesOfLine);
  cover(world, shop, expected);
  if (isWritten) checkEdited(shop, expected);
  if (!isWritten || edit === 'refunded') return;
  checkCodes(shop, expected);
  checkStated(shop, expected);
  if (shop.plan.platform === 'woocommerce') checkStatus(shop, expected);
}

function cover(
  { coverage }: World,
  { kind, woocommerce, shopify }: SimWrittenShop,
  { orderId, edit }: Expected,
): void {
  if (edit !== undefined) coverage.hit(`${kind} order ${edit}`);
  for (const { customer_note: isForCustomer } of woocommerce.notesOf(orderId))
    coverage.hit(isForCustomer ? 'note to a customer' : 'private note');
  for (const mail of woocommerce.mails)
    if (mail.orderId === orderId) coverage.hit(`mail ${mail.kind}`);
  for (const one of shopify.fulfilments) if (one.orderId === orderId) coverage.hit('fulfilment');
  for (const tag of shopify.tags.get(orderId) ?? []) coverage.hit(`tag ${tag}`);
}

/** Nothing of another order. */
function checkForeign(
  { api }: World,
  shop: SimWrittenShop,
  { document, orderId, plan, text, violate }: Expected,
): void {
  const own = new Set(
    document.lines.flatMap(({ entries }) => entries.map(({ reference }) => reference)),
  );
  // A lost outbox may have bought it in parts, of which the one in its place does not know.
  if (shop.ofLostOutbox.has(orderId))
    for (const line of plan.lines)
      for (const reference of referencesOf(line, 0)) own.add(reference);
  // An API that sells a code again sold it here first.
  const ownUnits = new Set(
    api.ledger.orders.filter(({ reference }) => own.has(reference)).flatMap(({ units }) => units),
  );
  for (const order of api.ledger.orders) {
    if (own.has(order.reference)) continue;
    const unit = order.units.find((code) => text.includes(code) && !ownUnits.has(code));
    if (unit !== undefined) violate('I41', `shows ${unit}, which was sold as ${order.reference}`);
  }
}

/** Each note stands once, and no line was added or changed. */
function checkNotes(shop: SimWrittenShop, { orderId, plan, edit, violate }: Expected): void {
  const { woocommerce } = shop;
  const markers = woocommerce.notesOf(orderId).flatMap(({ note }) => {
    const found = note.match(/<!--order-sync:[0-9a-f]{16}-->/g) ?? [];
    return found.length === 0 ? [note] : found;
  });
  const twice = markers.find((marker, index) => markers.indexOf(marker) !== index);
  if (twice !== undefined) violate('I41', `the note ${twice} stands there twice`);
  const items = listIn(shop.orderOf(orderId)?.body['line_items']).filter(({ id }) => id !== 999);
  const ids = [
    ...plan.lines.map(({ lineId }) => lineId),
    ...(edit === 'added' ? [`${orderId}99`] : []),
  ];
  if (items.map(({ id }) => String(id)).join() !== ids.join())
    violate('I41', `has the lines ${items.map(({ id }) => String(id)).join()}`);
  const mails = woocommerce.mails.filter(
    (mail) => mail.orderId === orderId && mail.kind === 'completed',
  );
  if (mails.length > 1)
    violate('I41', `its customer got ${mails.length} mails that it is complete`);
}

/** Each line is fulfilled once, and its units stand in the order before. */
function checkFulfilments(
  shop: SimWrittenShop,
  { orderId, plan, edit, given, lowered, isWithheld, violate }: Expected,
  isWritten: boolean,
  codesOfLine: (line: AcceptableLine) => readonly string[],
): void {
  const { shopify, byHand } = shop;
  const options = shop.plan.platform === 'shopify' ? shop.plan.options : null;
  for (const line of plan.lines) {
    const { lineId } = line;
    const left = (line.quantity ?? 1) - (byHand.get(lineId) ?? 0);
    const isDue = options?.fulfil === true && given.includes(line);
    const fulfilled = shopify.fulfilled(lineId);
    const most =
      (line.quantity ?? 1) +
      (plan.change?.kind === 'raised' || plan.change?.kind === 'put_back' ? 1 : 0);
    if (edit === 'refunded' && fulfilled <= most) continue;
    const isKept = line === lowered && isWithheld && !shop.ofLostOutbox.has(orderId);
    const mayBe = isKept
      ? [0]
      : isDue && isWritten && edit !== 'cancelled'
        ? [left]
        : isDue || edit !== undefined || shop.ofLostOutbox.has(orderId)
          ? [0, left, line.quantity ?? 1]
          : [0];
    if (!mayBe.includes(fulfilled))
      violate(
        'I41',
        `${fulfilled} pieces of line ${lineId} are fulfilled, not ${mayBe.join(' or ')}`,
      );
    if (options?.deliverCodes !== 'meta') continue;
    const without = shopify.fulfilments.filter(
      (one) => one.orderId === orderId && one.lines.some((it) => it.lineId === lineId),
    );
    if (
      without.some(({ metafields }) => codesOfLine(line).some((code) => !metafields.includes(code)))
    )
      violate('I42', `line ${lineId} was fulfilled before its codes stood in the order`);
  }
}

/**
 * An order of the intake that was edited: its customer gets what was bought, unless the order has
 * fewer pieces now.
 */
function checkEdited(
  shop: SimWrittenShop,
  { document, orderId, plan, text, violate }: Expected,
): void {
  const { kind } = plan.change ?? {};
  if (kind !== 'raised' && kind !== 'lowered' && kind !== 'put_back') return;
  if (shop.plan.options.deliverCodes === 'off' || shop.overtaken.has(orderId)) return;
  const items = listIn(shop.orderOf(orderId)?.body['line_items']);
  for (const line of document.lines) {
    const item = items.find(({ id }) => String(id) === line.line_id);
    const left = Number(item?.['current_quantity'] ?? item?.['quantity']);
    const units = unitsOf(line);
    const ordered = Number(line.extra?.['shop_quantity']);
    if (line.state !== 'fulfilled' || units.length !== ordered || !(left >= ordered)) continue;
    if (units.some((code) => !text.includes(code)))
      violate(
        'I44',
        `has ${left} pieces of line ${line.line_id}, ${ordered} were bought, and they are not given`,
      );
  }
}

function checkCodes(shop: SimWrittenShop, { orderId, edit, codes, text, violate }: Expected): void {
  const { deliverCodes } = shop.plan.options;
  if (deliverCodes === 'off') {
    if (codes.some((code) => text.includes(code)))
      violate('I42', 'shows codes, and the shop does not want any');
  } else if (
    edit !== 'cancelled' &&
    !shop.overtaken.has(orderId) &&
    codes.some((code) => !text.includes(code))
  )
    violate('I44', 'has not all of its codes');
}

/** The order says what the result says. A closed one is not changed any more. */
function checkStated(
  shop: SimWrittenShop,
  { document, orderId, edit, stages, given, lowered, isTold, violate }: Expected,
): void {
  // A call that was given up, and that the shop processes after a newer one, stands until the
  // result changes again.
  if (!isTold || edit === 'cancelled' || shop.overtaken.has(orderId)) return;
  const isShopify = shop.kind === 'shopify';
  const metafields = shop.shopify.metafields.get(orderId);
  const fields = isShopify ? null : shop.woocommerce.fieldsOf(orderId);
  const state = isShopify ? metafields?.get('state') : fields?.['_order_sync_state'];
  const stored = isShopify ? metafields?.get('result') : fields?.['_order_sync_result'];
  const result = typeof stored === 'string' ? stored : '{}';
  if (state !== document.state)
    violate('I44', `says that it is ${String(state)}, and it is ${document.state}`);
  const told: { lines?: { line_id: string; state: string }[] } = JSON.parse(result);
  const is = (told.lines ?? []).map((line) => `${line.line_id} ${line.state}`).join();
  const should = document.lines.map((line) => `${line.line_id} ${line.state}`).join();
  if (is !== should) violate('I44', `says ${is}, and it is ${should}`);
  const all = [...stages.values()];
  // What of a lowered line was given before, and is told, depends on when.
  if (lowered !== null) return;
  if (shop.plan.platform === 'shopify') {
    const tags = (shop.shopify.tags.get(orderId) ?? []).toSorted().join();
    const due = [
      ...(all.every((stage) => stage === 'done') ? ['order-sync-delivered'] : []),
      ...(all.includes('review') ? ['order-sync-review'] : []),
    ].join();
    if (tags !== due) violate('I42', `has the tags "${tags}", not "${due}"`);
    return;
  }
  const words = { done: 'Delivered', review: 'Needs review', open: '' } as const;
  // What the customer reads in a note needs no other one.
  const mails = shop.woocommerce
    .notesOf(orderId)
    .filter(({ customer_note: isForCustomer }) => isForCustomer);
  const isMailed = (line: ResultLine): boolean => {
    const codes = unitsOf(line);
    return codes.length > 0 && codes.every((code) => mails.some(({ note }) => note.includes(code)));
  };
  const inNote = new Set(
    shop.plan.options.deliverCodes === 'note'
      ? [
          ...given.map(({ lineId }) => lineId),
          ...document.lines.filter(isMailed).map((line) => line.line_id),
        ]
      : [],
  );
  const due = [...stages].filter(([lineId, stage]) => stage !== 'open' && !inNote.has(lineId));
  const notes = shop.woocommerce
    .notesOf(orderId)
    .filter(({ customer_note: isForCustomer }) => !isForCustomer);
  const said = notes.flatMap(({ note }) => note.split('\n'));
  const isSaid = due.every(([lineId, stage]) =>
    said.some((text) => text.includes(`(line ${lineId})`) && text.startsWith(words[stage])),
  );
  if (!isSaid) violate('I44', 'has no note that says what became of its lines');
}

/** The order is complete when all of it was delivered, and then its codes stood in it before. */
function checkStatus(
  shop: SimWrittenShop,
  { orderId, plan, edit, given, isWithheld, codes, violate }: Expected,
): void {
  const { options } = shop.plan;
  const { body } = shop.woocommerce.order(orderId);
  const mails = shop.woocommerce.mails.filter(
    (mail) => mail.orderId === orderId && mail.kind === 'completed',
  );
  const isWhole = plan.isOursOnly === true && given.length === plan.lines.length;
  const completes = 'status' in options && options.status === 'completed' && isWhole;
  const status = String(body['status']);
  // The outbox before had delivered all of it; this one may wait for an operator.
  const wasCompleted = status === 'completed' && shop.ofLostOutbox.has(orderId);
  const dueOf: Readonly<Record<string, readonly string[]>> = {
    none: [completes ? 'completed' : 'processing'],
    cancelled: ['cancelled', 'refunded'],
    done_by_hand: ['completed'],
    raised: ['processing', 'completed'],
    lowered: isWithheld ? ['processing'] : ['processing', 'completed'],
    put_back: ['processing', 'completed'],
    added: ['processing', 'completed'],
    deleted: [],
  };
  const due = dueOf[edit ?? 'none'] ?? [];
  if (!due.includes(status) && !wasCompleted)
    violate('I42', `has the status ${status}, not ${due.join(' or ')}`);
  if (edit === undefined && !wasCompleted && completes !== (mails.length === 1))
    violate('I42', `sent ${mails.length} mails that it is complete`);
  if (options.deliverCodes === 'off') return;
  if (mails.some(({ text }) => codes.some((code) => !text.includes(code))))
    violate('I42', 'was completed before its codes stood in it');
}
