import { deliversUnits, type ReferencedPurchase } from '../order/purchase.ts';
import type { Unit } from './order-answer.ts';

export interface OrderOfUnits
  extends Pick<ReferencedPurchase, 'operation' | 'variant' | 'plan' | 'reference' | 'quantity'> {
  readonly orderNumber: string | null;
}

/**
 * Whether the units of an answer are what was ordered. `units` are the believable ones:
 *   complete  as many as were ordered, each different
 *   fewer     some are missing
 *   more      more than were ordered
 *   repeated  one of them came twice
 */
export interface UnitsVerdict {
  readonly kind: 'complete' | 'fewer' | 'more' | 'repeated';
  readonly units: readonly Unit[];
  /** How many believable units the answer has, and how many of them are different. */
  readonly shown: number;
  readonly different: number;
}

/** Words in the place of a code that is not there yet. */
const waitingWords = new Set(
  (
    'pending processing inprogress inprocess queued generating delivering awaiting waiting wait later comingsoon ' +
    'tbd tba tobeannounced tobedetermined tobedelivered notready notyetavailable preorder placeholder'
  ).split(' '),
);
/** Words that say that there is no such field. */
const nothingWords = new Set(
  'na nil none null undefined nan no empty missing unknown notavailable notapplicable unavailable nocode nopin error failed true false ok'.split(
    ' ',
  ),
);

/** Letters and digits only. */
const exact = (text = ''): string => text.normalize('NFKC').replaceAll(/[^\p{L}\p{N}]+/gu, '');
/** The same in one case: a word is compared without regard to its form. */
const plain = (text: string): string => exact(text).toLowerCase();

/** `****`, `xxxx-xxxx`, `0000`, or a code of which only the end is shown. */
function isMasked(text: string): boolean {
  const letters = plain(text);
  if (/[*•●…]{2,}|#{3,}/.test(text) || /^(0+|x{2,}|)$/.test(letters)) return true;
  return text.split(/[^\p{L}\p{N}]+/u).filter((group) => /^x{3,}$/i.test(group)).length >= 2;
}

/**
 * Nobody can see or type these, and they can make one code look like another: control characters,
 * those without a width, and those that change the direction.
 */
const untypable = /[\p{C}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}]/u;
const hasUntypable = ({
  code,
  pin,
  url,
  iccid,
  lpa,
  smdp_address: server,
  matching_id: matching,
}: Unit): boolean =>
  [code, pin, url, iccid, lpa, server, matching].some(
    (text) => text !== undefined && untypable.test(text),
  );

/** Whether a text says that there is no value, or not yet. */
export const isPlaceholder = (text: string): boolean =>
  waitingWords.has(plain(text)) || nothingWords.has(plain(text));

type Field = 'code' | 'pin' | 'url';
const redeemable: readonly Field[] = ['code', 'pin', 'url'];

/**
 * The kind of a field of a unit: `waiting` is a placeholder, `nothing` says that the unit has no
 * such field.
 */
function kindOf(
  field: Field,
  text: string,
  names: ReadonlySet<string>,
): 'waiting' | 'nothing' | 'name' | 'value' {
  const word = plain(text);
  if (waitingWords.has(word)) return 'waiting';
  if (nothingWords.has(word) || /^[\s/.–—-]*$/.test(text)) return 'nothing';
  if (field !== 'url' && isMasked(text)) return 'waiting';
  return names.has(word) ? 'name' : 'value';
}

/**
 * A unit that a customer can redeem, without the fields that say that there is nothing; null for a
 * placeholder, and for what only repeats the order. A pin beside a code may be `0000`, or look like
 * an order number.
 */
function believableCode(unit: Unit, names: ReadonlySet<string>): Unit | null {
  // A code may have a state of its own.
  if (unit.status !== undefined && waitingWords.has(plain(unit.status))) return null;
  const kinds = redeemable.flatMap((field) => {
    const text = unit[field];
    return text === undefined
      ? []
      : [{ field, kind: kindOf(field, text, names), isZeros: /^0+$/.test(plain(text)) }];
  });
  const hasCode = kinds.some(({ field, kind }) => field === 'code' && kind === 'value');
  const isPlainPin = (it: (typeof kinds)[number]): boolean =>
    hasCode && it.field === 'pin' && (it.kind === 'name' || it.isZeros);
  const relevant = kinds.filter((it) => !isPlainPin(it));
  if (relevant.some(({ kind }) => kind === 'waiting' || kind === 'name')) return null;
  if (!relevant.some(({ kind }) => kind === 'value')) return null;
  const empty = new Set<string>(
    kinds.filter(({ kind }) => kind === 'nothing').map(({ field }) => field),
  );
  return empty.size === 0
    ? unit
    : Object.fromEntries(Object.entries(unit).filter(([name]) => !empty.has(name)));
}

/** An eSIM that can be identified: by its ICCID, or by an activation code with a matching id. */
function believableEsim(unit: Unit, names: ReadonlySet<string>): Unit | null {
  const matching = unit.matching_id ?? unit.lpa?.split('$')[2] ?? '';
  if (matching !== '') {
    const word = plain(matching);
    if (waitingWords.has(word) || nothingWords.has(word) || isMasked(matching) || names.has(word))
      return null;
  }
  if (unit.iccid !== undefined) return /^(\d)\1*$/.test(unit.iccid) ? null : unit;
  return unit.lpa !== undefined && matching !== '' ? unit : null;
}

/**
 * The values that identify a unit of one answer. Two codes that differ in capitals are two: the API
 * lists what it sold. Several codes may share an address, and several eSIMs a server.
 */
function identitiesOf(unit: Unit, isEsim: boolean): readonly string[] {
  if (!isEsim) return [JSON.stringify([exact(unit.code), exact(unit.pin), unit.url?.trim() ?? ''])];
  const matching = unit.matching_id ?? unit.lpa?.split('$')[2] ?? '';
  const activation = matching === '' ? [] : [`lpa ${exact(unit.lpa ?? matching)}`];
  return [...(unit.iccid === undefined ? [] : [`iccid ${unit.iccid}`]), ...activation];
}

/**
 * So many units are kept of one order. More than it ordered are evidence for an operator, but an
 * answer may have 20,000.
 * @param quantity as it was ordered; null for one
 */
export function keptUnits(quantity: number | null): number {
  return (quantity ?? 1) + 100;
}

/**
 * Judges the units of an answer to an order. A placeholder is no unit, and neither is what only
 * repeats the product, the reference or the order number, in whatever form it is written.
 */
export function judgeUnits(units: readonly Unit[], order: OrderOfUnits): UnitsVerdict {
  const named = [order.variant, order.plan, order.reference, order.orderNumber];
  const names = new Set(
    named.flatMap((name) => (name === null || plain(name) === '' ? [] : [plain(name)])),
  );
  const isEsim = order.operation !== 'gift_card_order';
  const typable = units.filter((unit) => !hasUntypable(unit));
  const believable = typable.flatMap(
    (unit) => (isEsim ? believableEsim(unit, names) : believableCode(unit, names)) ?? [],
  );
  const seen = new Set<string>();
  let different = 0;
  for (const unit of believable) {
    const identities = identitiesOf(unit, isEsim);
    if (!identities.some((identity) => seen.has(identity))) different += 1;
    for (const identity of identities) seen.add(identity);
  }
  const ordered = order.quantity ?? 1;
  const shown = believable.length;
  const kind =
    different > ordered
      ? 'more'
      : different < shown
        ? 'repeated'
        : shown < ordered
          ? 'fewer'
          : 'complete';
  return { kind, units: believable.slice(0, keptUnits(order.quantity)), shown, different };
}

/** The fields that identify a unit, the surest first. Several units may have the same `url`. */
const identifying = ['code', 'iccid', 'lpa', 'pin', 'serial', 'url'] as const;

function isSame(one: Unit, other: Unit): boolean {
  const field = identifying.find((name) => one[name] !== undefined && other[name] !== undefined);
  // Cards may share a number, each with a PIN of its own.
  const isOtherCard = one.pin !== undefined && other.pin !== undefined && one.pin !== other.pin;
  return field !== undefined && one[field] === other[field] && !isOtherCard;
}

/**
 * The units of an order after another answer: those that it shows, and those that an earlier answer
 * showed and this one does not. The spec does not say that an answer repeats earlier units, and a
 * lost code is lost money.
 */
export function withDelivered(shown: readonly Unit[], before: readonly Unit[]): readonly Unit[] {
  return [...shown, ...before.filter((unit) => !shown.some((other) => isSame(other, unit)))];
}

/** How many of the ordered units are not among these. A top-up and a cancel deliver none. */
export function missingUnits(order: OrderOfUnits, units: readonly Unit[]): number {
  return deliversUnits(order.operation)
    ? Math.max(0, (order.quantity ?? 1) - judgeUnits(units, order).different)
    : 0;
}
