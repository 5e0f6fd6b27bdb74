import type { OutcomeRow } from '../core/answers/outcome.ts';
import { wholesaleErrors } from '../core/answers/wholesale-errors.ts';
import { type ExactJson, isJsonList, isJsonObject, parseExactJson } from '../core/exact-json.ts';
import { familyOf, type Family, type Operation } from '../core/order/purchase.ts';
import { classify } from './classify.ts';
import { firstAt, textIn } from './connector/answer-values.ts';
import { readAnswer, readLookup, type SuccessReading } from './connector/read-answer.ts';
import { whyUnrecognised } from './connector/recognise-order.ts';
import { answerWireFor } from './connector/wire-answer.ts';
import type { Wire } from './connector/wire.ts';

/** The call that an answer is read as the answer of. */
export const sampleKinds = ['submit', 'lookup', 'error'] as const;
export type SampleKind = (typeof sampleKinds)[number];

type Values = Readonly<Record<string, string>>;

export interface ExplainedAnswer {
  readonly kind: SampleKind;
  readonly family: Family;
  readonly http: number;
  readonly row: OutcomeRow;
  readonly message: string;
  /**
   * What was read, by name: `order_number`, `units[0].code`; `unread extra_part` names a field of a
   * unit.
   */
  readonly read: Values;
  /** Each value of the answer, with what it was read as; none: it was not read. */
  readonly leaves: readonly {
    readonly path: string;
    readonly value: string;
    readonly readAs: readonly string[];
  }[];
  /** What an operator should correct in the mapping; empty: nothing. */
  readonly problems: readonly string[];
  /** What the answer does not say, or the mapping does not read, and what follows. */
  readonly notes: readonly string[];
}

type Path = readonly string[];

function leavesOf(
  value: ExactJson,
  path: Path = [],
): readonly { path: Path; value: string | boolean }[] {
  if (value === null) return [];
  if (typeof value === 'string' || typeof value === 'boolean') return [{ path, value }];
  return Object.entries(value).flatMap(([name, inner]) => leavesOf(inner, [...path, name]));
}

/**
 * Whether a read value came from this one: equal, a part of it, or the same digits as an amount.
 */
const isSame = (read: string, value: string): boolean =>
  read === value ||
  digitsOf(read) === digitsOf(value) ||
  (value.length >= 4 && read.includes(value));
const digitsOf = (text: string): string =>
  /^\d+(\.\d+)?$/.test(text) ? text.replace('.', '') : text;

/** Names and texts of what a record has; without what it has not. */
function valuesOf(fields: object, prefix = ''): readonly (readonly [string, string])[] {
  return Object.entries(fields).flatMap(([name, value]): readonly (readonly [string, string])[] =>
    value === null || String(value) === '' ? [] : [[prefix + name, String(value)]],
  );
}

/** Reads an answer to one kind of call, with or without a fault. */
function readingOf(
  body: ExactJson,
  kind: SampleKind,
  operation: Operation,
  mapping: Wire,
): SuccessReading {
  const [family, wire] = [familyOf(operation), answerWireFor(mapping.answer, operation)];
  // A sample does not say which of the orders in a list was asked for.
  const lists = isJsonList(body)
    ? [body]
    : isJsonObject(body)
      ? Object.values(body).filter(isJsonList)
      : [];
  const shown = lists.flat().flatMap((order) => firstAt(order, wire.reference, textIn) ?? []);
  if (kind === 'lookup') return readLookup(body, family, shown[0] ?? null, wire);
  const answer = readAnswer(body, family, wire);
  const message = whyUnrecognised(body, answer, operation, wire);
  return message === null ? { kind: 'read', answer } : { kind: 'unreadable', message };
}

function valuesIn(body: ExactJson, kind: SampleKind, operation: Operation, wire: Wire): Values {
  const error = isJsonObject(body) ? body['error'] : undefined;
  if (kind === 'error') return isJsonObject(error) ? Object.fromEntries(valuesOf(error)) : {};
  const reading = readingOf(body, kind, operation, wire);
  if (reading.kind === 'unreadable' || reading.answer === null) return {};
  const {
    units,
    unreadFields = [],
    orderNumber: order_number,
    statusClass: status_class,
    ...order
  } = reading.answer;
  return Object.fromEntries([
    ...valuesOf({ order_number, ...order, status_class }),
    ...units.flatMap((unit, at) => valuesOf(unit, `units[${at}].`)),
    ...unreadFields.map((name) => [`unread ${name}`, 'of a unit']),
  ]);
}

type Explained = Omit<ExplainedAnswer, 'problems' | 'notes'>;

function problemsOf({ kind, row, message, read, leaves }: Explained): readonly string[] {
  const names = Object.keys(read);
  const has = (start: string): boolean => names.some((name) => name.startsWith(start));
  if (kind === 'error') {
    const isListed = wholesaleErrors.some(({ code }) => code === read['code']);
    return isListed
      ? []
      : [
          'the specification does not list this error: an order with this error needs review or is looked up',
        ];
  }
  if (row !== 'accepted') return [message];
  const unread = names.flatMap((name) =>
    name.startsWith('unread ') ? name.slice('unread '.length) : [],
  );
  const next =
    'map each field under `answer`, or list it in `ignored`: until then nothing is delivered';
  if (unread.length > 0) return [`not read of a unit: ${unread.join(', ')}; ${next}`];
  const isOpen = ['pending', 'refunded'].includes(read['status_class'] ?? '');
  const amount = leaves.find(
    ({ path, readAs }) => readAs.length === 0 && /cost|price|amount|total|charge/i.test(path),
  );
  return [
    ...(isOpen || has('units[')
      ? []
      : ['no unit was found: check `answer.codes` or `answer.esims`']),
    ...(has('uncountedCost') ? ['the cost is not a plain amount: spending is not counted'] : []),
    ...(has('cost') || amount === undefined
      ? []
      : [
          `is ${amount.path} the cost? If so, map it in \`answer.cost\`: until then spending is not counted`,
        ]),
  ];
}

/** What is lost while a value of a successful order is not read. */
const lostWithout = {
  order_number: 'you cannot tell the supplier the order number',
  reference: 'an answer for another order is noticed only by its product',
  cost: 'spending is not counted',
  currency: 'the cost is counted in the currency of the order',
} as const;

function notesOf({ kind, row, read }: Explained): readonly string[] {
  if (kind === 'error' || row !== 'accepted') return [];
  return Object.entries(lostWithout).flatMap(([name, lost]) =>
    name in read ? [] : [`not read: ${name}: ${lost}`],
  );
}

/**
 * Reads the text of an answer as the worker would, without a call: what each value was read as, and
 * what that leads to.
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
  const [cards, esims] = (['gift_card_order', 'esim_order'] as const).map((of) =>
    valuesIn(body, kind, of, wire),
  );
  const isEsim =
    family === null
      ? Object.keys(esims ?? {}).length > Object.keys(cards ?? {}).length
      : family === 'esim';
  const operation = isEsim ? 'esim_order' : 'gift_card_order';
  const read = (isEsim ? esims : cards) ?? {};
  const chosen = familyOf(operation);
  const listed = wholesaleErrors.find(({ code }) => code === read['code'])?.http ?? 422;
  const status = http ?? (kind === 'error' ? listed : 200);
  const end = {
    kind: 'answer',
    http: status,
    headers: {},
    body: new TextEncoder().encode(text),
  } as const;
  const purpose =
    kind === 'lookup'
      ? ({ kind: 'read', family: chosen } as const)
      : ({ kind: 'submit', operation } as const);
  const outcome = classify(end, purpose, (value) => readingOf(value, kind, operation, wire), 0);
  const facts = Object.entries(read).filter(([name]) => !name.startsWith('unread '));
  const leaves = leavesOf(body).map(({ path, value }) => ({
    path: path
      .map((name) => (/^\d+$/.test(name) ? `[${name}]` : `.${name}`))
      .join('')
      .replace(/^\./, ''),
    value: String(value),
    readAs: facts.filter(([, shown]) => isSame(shown, String(value))).map(([name]) => name),
  }));
  const explained = {
    kind,
    family: chosen,
    http: status,
    row: outcome.row,
    message: outcome.message,
    read,
    leaves,
  };
  return { ...explained, problems: problemsOf(explained), notes: notesOf(explained) };
}
