import { isPlaceholder } from '../../core/answers/units.ts';
import { type ExactJson, isJsonList, isJsonObject } from '../../core/exact-json.ts';
import type { Family } from '../../core/order/purchase.ts';
import { valueAt } from './answer-values.ts';
import { readAnswer } from './read-answer.ts';
import type { AnswerWire } from './wire-answer.ts';

/** So much of a kept answer is enough to compare it with a mapping. */
const longestBody = 32_768;
const longestValue = 200;

export interface MaskedPart {
  readonly family: Family;
  readonly wire: AnswerWire;
  /**
   * The part of the answer that is the order: the whole answer, or an element of a list that a
   * lookup found.
   */
  readonly order: ExactJson;
  /** Values of the request, which an answer may repeat. */
  readonly known: readonly string[];
}

/** The form of a text, without its value. */
function maskedText(text: string): string {
  const start = /^(LPA:1\$|1\$|https?:\/\/|data:image\/)/i.exec(text)?.[0] ?? '';
  return (
    start +
    text.slice(start.length, longestValue).replaceAll(/\p{L}/gu, 'A').replaceAll(/\p{N}/gu, '9')
  );
}

/** Groups as codes are printed, else a word. */
const words = /[\p{Lu}\p{N}]{3,6}(?: [\p{Lu}\p{N}]{3,6}){2,}|[\p{L}\p{N}][\p{L}\p{M}\p{N}_-]*/gu;
const plainWord =
  /^(?:\p{N}{1,4}[a-z]{0,2}|[\p{Lu}_-]{1,6}|\p{Lu}{1,14}(?:_\p{Lu}{1,14})+|(?=.*[\p{Ll}\p{Lo}])[\p{L}\p{M}_-]{1,39}\p{N}{0,2})$/u;

/** A text of an answer that people read, such as the message of an error, without what may be a code. */
export const maskedWords = (text: string): string =>
  text.replaceAll(words, (word) => (plainWord.test(word) ? word : '***'));

/** A name that is surely no code: some APIs use codes as names. */
function maskedName(name: string, known: ReadonlySet<string>): string {
  const isWord =
    /^[A-Za-z_][A-Za-z_-]{0,38}\d{0,2}$/.test(name) && (/[a-z]/.test(name) || name.length <= 6);
  return isWord || known.has(name) || /^\d{1,3}$/.test(name) ? name : maskedText(name);
}

/** Every name and path segment of a mapping, and every word that it knows. */
function textsOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value, ...value.split('.')];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : [];
}

/**
 * The values at which a mapping reads what is no code: the number, the reference, the status, the
 * cost and its currency.
 */
function readValues({ order, family, wire }: MaskedPart): ReadonlySet<string> {
  const { number, reference, status, cost, currency, envelopes } = wire;
  const places = envelopes.flatMap((path) => valueAt(order, path) ?? []);
  const found = places.flatMap((place) =>
    [number, reference, status, cost, currency].flatMap((paths) =>
      paths.flatMap((path) => valueAt(place, path) ?? []),
    ),
  );
  const units = new Set(
    readAnswer(order, family, wire).units.flatMap((unit) => Object.values(unit)),
  );
  return new Set(
    found.filter((value) => typeof value === 'string').filter((value) => !units.has(value)),
  );
}

/**
 * An answer with the form of its values instead of them, as JSON: letters as A, digits as 9. In
 * clear are what is read as number, reference, status, cost and currency outside of any list, words
 * that the mapping knows, what the request said, and the words of code and message of an error (Spec 7). No code
 * of a unit is in it, however wrong the mapping is about lists.
 * @returns null for an answer that is too long to be kept
 */
export function maskedAnswer(body: ExactJson, part: MaskedPart): string | null {
  const knownWords = new Set(textsOf(part.wire));
  const error = isJsonObject(body) && isJsonObject(body['error']) ? body['error'] : {};
  const told: readonly unknown[] = [error['code'], error['message']];
  const known = new Set(part.known);
  const clear = readValues(part);
  const mask = (value: ExactJson, inOrder: boolean): ExactJson => {
    if (isJsonList(value)) return value.map((element) => mask(element, element === part.order));
    if (isJsonObject(value)) {
      const fields = Object.entries(value).map(([name, inner]) => [
        maskedName(name, knownWords),
        mask(inner, inOrder),
      ]);
      return Object.fromEntries(fields);
    }
    if (typeof value !== 'string') return value;
    const isClear =
      knownWords.has(value) ||
      known.has(value) ||
      isPlaceholder(value) ||
      (inOrder && clear.has(value));
    if (isClear) return value;
    return told.includes(value) ? maskedWords(value) : maskedText(value);
  };
  const text = JSON.stringify(mask(body, !isJsonList(body)));
  return text.length > longestBody ? null : text;
}
