import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

type Meaning = 'quantity' | 'currency' | 'line_id' | 'other_numbers';
interface Words {
  readonly words: ReadonlySet<string>;
  readonly parts: readonly string[];
}

const simple = (text: string): string => text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
const joined = (text: string): string => simple(text).replaceAll(/[^\p{L}\p{N}]+/gu, '');

let known: Readonly<Record<Meaning, Words>> | undefined;

function readWords(): Readonly<Record<Meaning, Words>> {
  const file = join(import.meta.dirname, '../../../config/column-words.yaml');
  const lists: Record<Meaning, Record<'words' | 'parts', readonly unknown[]>> = parse(readFileSync(file, 'utf8'));
  const wordsOf = ({ words, parts }: (typeof lists)[Meaning]): Words => ({
    words: new Set(words.map((word) => simple(String(word)))),
    parts: parts.map((part) => joined(String(part))),
  });
  const { quantity, currency, line_id: lineId, other_numbers: others } = lists;
  return {
    quantity: wordsOf(quantity),
    currency: wordsOf(currency),
    line_id: wordsOf(lineId),
    other_numbers: wordsOf(others),
  };
}

/** Whether the name of a column has a word, of any of many languages, by which people name this. */
export function mayMean(meaning: Meaning, name: string): boolean {
  const { words, parts } = (known ??= readWords())[meaning];
  const plain = joined(name);
  if (parts.some((part) => plain.includes(part))) return true;
  // `lineItemQty` has three words.
  const spaced = name.replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2');
  return simple(spaced)
    .split(/[^\p{L}\p{N}]+/u)
    .some((word) => words.has(word));
}
