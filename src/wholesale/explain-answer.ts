import type { OutcomeRow } from '../core/answers/outcome.ts';
import { wholesaleErrors } from '../core/decision/wholesale-errors.ts';
import { type ExactJson, isJsonList, isJsonObject, parseExactJson } from '../core/exact-json.ts';
import { familyOf, type Family, type Operation } from '../core/order/purchase.ts';
import { readProduct } from './catalogue/catalogue-item.ts';
import { readCataloguePage } from './catalogue/catalogue-walk.ts';
import { classify } from './classify.ts';
import { firstAt, textIn } from './connector/answer-values.ts';
import { keptStart } from './connector/mask-answer.ts';
import { readAnswer, readLookup, type SuccessReading } from './connector/read-answer.ts';
import { whyUnrecognised } from './connector/recognise-order.ts';
import { answerWireFor } from './connector/wire-answer.ts';
import type { Wire } from './connector/wire.ts';

/** The call that an answer is read as the answer of. */
export const sampleKinds = ['submit', 'lookup', 'error', 'products'] as const;
export type SampleKind = (typeof sampleKinds)[number];

type Values = Readonly<Record<string, string>>;

export interface ExplainedAnswer {
  readonly kind: SampleKind;
  readonly family: Family;
  readonly http: number;
  /** The row of the decision table; null for a catalogue. */
  readonly row: OutcomeRow | null;
  readonly message: string;
  /** What was read, by name: `order_number`, `units[0].code`; `unread extra_part` names a field of a unit. */
  readonly read: Values;
  /** Each value of the answer, with what it was read as; none: it was not read. */
  readonly leaves: readonly { readonly path: string; readonly value: string; readonly readAs: readonly string[] }[];
  /** What a person should correct in the mapping; empty: nothing. */
  readonly problems: readonly string[];
}

/** More of an answer than a person reads. */
const mostLeaves = 300;

type Path = readonly string[];
type Change = (leaf: ExactJson) => ExactJson;

function leavesOf(value: ExactJson, path: Path = []): readonly { path: Path; value: string | boolean }[] {
  if (value === null) return [];
  if (typeof value === 'string' || typeof value === 'boolean') return [{ path, value }];
  return Object.entries(value).flatMap(([name, inner]) => leavesOf(inner, [...path, name]));
}

function changedAt(value: ExactJson, [name, ...rest]: Path, change: Change): ExactJson {
  if (name === undefined || value === null || typeof value !== 'object') return change(value);
  const changed = (key: string, inner: ExactJson): ExactJson => (key === name ? changedAt(inner, rest, change) : inner);
  if (isJsonList(value)) return value.map((inner, index) => changed(String(index), inner));
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, changed(key, inner)]));
}

/** Another value of the same form, so that it is read at the same place. */
const another: Change = (leaf) => {
  if (typeof leaf !== 'string') return leaf !== true;
  const start = keptStart(leaf);
  const next = { z: 'b', Z: 'B', '9': '1' };
  const turn = (one: string) => Object.entries(next).find(([last]) => last === one)?.[1];
  const turned = leaf.slice(start.length).replaceAll(/[A-Za-z0-9]/g, (one) => {
    return turn(one) ?? String.fromCharCode(one.charCodeAt(0) + 1);
  });
  return start + turned;
};

/** Names and texts of what a record has; without what it has not. */
function valuesOf(fields: object, prefix = ''): readonly (readonly [string, string])[] {
  return Object.entries(fields).flatMap(([name, value]): readonly (readonly [string, string])[] =>
    value === null || String(value) === '' ? [] : [[prefix + name, String(value)]],
  );
}

/** Reads an answer to one kind of call. Null: nothing is recognised in it. */
class SampleReader {
  readonly kind: SampleKind;
  readonly operation: Operation;
  readonly #wire: Wire;

  constructor(kind: SampleKind, family: Family, wire: Wire) {
    this.kind = kind;
    this.operation = family === 'esim' ? 'esim_order' : 'gift_card_order';
    this.#wire = wire;
  }

  reading(body: ExactJson): SuccessReading {
    const [family, wire] = [familyOf(this.operation), answerWireFor(this.#wire.answer, this.operation)];
    // A sample does not say which of the orders in a list was asked for.
    const lists = isJsonList(body) ? [body] : isJsonObject(body) ? Object.values(body).filter(isJsonList) : [];
    const shown = lists.flat().flatMap((order) => firstAt(order, wire.reference, textIn) ?? []);
    if (this.kind === 'lookup') return readLookup(body, family, shown[0] ?? null, wire);
    const answer = readAnswer(body, family, wire);
    const message = whyUnrecognised(body, answer, this.operation, wire);
    return message === null ? { kind: 'read', answer } : { kind: 'unreadable', message };
  }

  read(body: ExactJson): Values {
    if (this.kind === 'products') {
      const items = readCataloguePage(body, readProduct, this.#wire.catalogue)?.items ?? [];
      return Object.fromEntries(items.slice(0, 5).flatMap(({ item }, at) => valuesOf(item, `products[${at}].`)));
    }
    const error = isJsonObject(body) ? body['error'] : undefined;
    if (this.kind === 'error') return isJsonObject(error) ? Object.fromEntries(valuesOf(error)) : {};
    const reading = this.reading(body);
    if (reading.kind === 'unreadable' || reading.answer === null) return {};
    const { units, unreadFields = [], orderNumber: order_number, statusClass: status_class, ...order } = reading.answer;
    return Object.fromEntries([
      ...valuesOf({ order_number, ...order, status_class }),
      ...units.flatMap((unit, at) => valuesOf(unit, `units[${at}].`)),
      ...unreadFields.map((name) => [`unread ${name}`, 'of a unit']),
    ]);
  }
}

/** What a person should correct. */
function problemsOf({ kind, row, message, read }: Omit<ExplainedAnswer, 'problems'>): readonly string[] {
  const names = Object.keys(read);
  const has = (start: string): boolean => names.some((name) => name.startsWith(start));
  if (kind === 'products') {
    if (!has('products[0].variant')) return ['no product is read: see `catalogue.lists` and `catalogue.key`'];
    return has('products[0].currencies') ? [] : ['no price is read: see `catalogue.prices`'];
  }
  if (kind === 'error') {
    const isListed = wholesaleErrors.some(({ code }) => code === read['code']);
    return isListed ? [] : ['the specification does not list this error: its order needs review or is looked up'];
  }
  if (row !== 'accepted') return [message];
  const unread = names.flatMap((name) => (name.startsWith('unread ') ? name.slice('unread '.length) : []));
  const next = 'map it below `answer`, or list it in `ignored`: until then nothing is delivered';
  if (unread.length > 0) return [`not read of a unit: ${unread.join(', ')}; ${next}`];
  const isOpen = ['pending', 'refunded'].includes(read['status_class'] ?? '');
  return isOpen || has('units[') ? [] : ['no unit is read: see `answer.codes` or `answer.esims`'];
}

/**
 * Reads the text of an answer as the worker would, without a call: what each value was read as, and what that leads to.
 * @param asked.family null: the one in which more is read
 * @param asked.http default: 200, and of an error the status of its code (Spec 7)
 * @returns null for a text that is not JSON
 */
export function explainAnswer(
  text: string,
  { kind, family, http }: { kind: SampleKind; family: Family | null; http?: number | undefined },
  wire: Wire,
): ExplainedAnswer | null {
  const body = parseExactJson(text);
  if (body === undefined) return null;
  const [cards, esims] = [new SampleReader(kind, 'gift_card', wire), new SampleReader(kind, 'esim', wire)];
  const isEsim = Object.keys(esims.read(body)).length > Object.keys(cards.read(body)).length;
  const reader = (family ?? (isEsim ? 'esim' : 'gift_card')) === 'esim' ? esims : cards;
  const read = reader.read(body);
  const { operation } = reader;
  const chosen = familyOf(operation);
  const listed = wholesaleErrors.find(({ code }) => code === read['code'])?.http ?? 422;
  const status = http ?? (kind === 'error' ? listed : 200);
  const end = { kind: 'answer', http: status, headers: {}, body: new TextEncoder().encode(text) } as const;
  const purpose =
    kind === 'lookup' ? ({ kind: 'read', family: chosen } as const) : ({ kind: 'submit', operation } as const);
  const outcome = kind === 'products' ? null : classify(end, purpose, (value) => reader.reading(value), 0);
  const readAs = (path: Path, change: Change): readonly string[] => {
    const now = reader.read(changedAt(body, path, change));
    const differing = Object.keys({ ...read, ...now }).filter((name) => read[name] !== now[name]);
    return differing.filter((name) => !name.startsWith('unread '));
  };
  const leaves = leavesOf(body)
    .slice(0, mostLeaves)
    .map(({ path, value }) => ({
      path: path
        .map((name) => (/^\d+$/.test(name) ? `[${name}]` : `.${name}`))
        .join('')
        .replace(/^\./, ''),
      value: String(value),
      readAs: [readAs(path, another), readAs(path, () => null)].find((names) => names.length > 0) ?? [],
    }));
  const told = { row: outcome?.row ?? null, message: outcome?.message ?? '' };
  const explained = { kind, family: chosen, http: status, ...told, read, leaves };
  return { ...explained, problems: problemsOf(explained) };
}
