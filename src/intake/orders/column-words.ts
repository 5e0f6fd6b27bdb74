import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

export const meanings = [
  'order_id',
  'sku',
  'quantity',
  'currency',
  'line_id',
  'payment',
  'other_numbers',
  'other_status',
] as const;
export type Meaning = (typeof meanings)[number];
interface Words {
  readonly words: ReadonlySet<string>;
  readonly parts: readonly string[];
}

const simple = (text: string): string =>
  text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
const joined = (text: string): string => simple(text).replaceAll(/[^\p{L}\p{N}]+/gu, '');

let known: ReadonlyMap<Meaning, Words> | undefined;

function readWords(): ReadonlyMap<Meaning, Words> {
  const file = join(import.meta.dirname, '../../../config/column-words.yaml');
  const lists: Record<Meaning, Record<'words' | 'parts', readonly unknown[]>> = parse(
    readFileSync(file, 'utf8'),
  );
  return new Map(
    meanings.map((meaning) => {
      const { words, parts } = lists[meaning];
      const simpleWords = new Set(words.map((word) => simple(String(word))));
      return [meaning, { words: simpleWords, parts: parts.map((part) => joined(String(part))) }];
    }),
  );
}

/** Whether the name of a column has a word, of any of many languages, by which people name this. */
export function mayMean(meaning: Meaning, name: string): boolean {
  const { words, parts } = (known ??= readWords()).get(meaning) ?? { words: new Set(), parts: [] };
  const plain = joined(name);
  if (parts.some((part) => plain.includes(part))) return true;
  // `lineItemQty` has three words.
  const spaced = name.replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2');
  return simple(spaced)
    .split(/[^\p{L}\p{N}]+/u)
    .some((word) => words.has(word));
}
