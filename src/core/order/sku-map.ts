import { quoted } from '../message-text.ts';
import type { Sku } from './sku.ts';
import { mangledAs } from './spreadsheet.ts';

const entities = new Map(
  Object.entries({ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' }),
);
const entity = /&(?:([a-z]{2,4})|#(x?[\da-f]{1,7}));/g;

function decoded(whole: string, name: string | undefined, code = ''): string {
  const point = Number(code.replace('x', '0x'));
  if (name !== undefined) return entities.get(name) ?? whole;
  return point <= 0x10_ffff ? String.fromCodePoint(point) : whole;
}

// Each letter looks like the one below it, small or capital.
const foreign = 'авсенкмортухіјѕԁһӏαβεζηικμνορτυχı';
const latin = 'abcehkmoptyxijsdhlabezhikmnoptyxi';

const simpler = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(entity, decoded)
    .replaceAll(/[\p{Pi}\p{Pf}"`´‚„′″]/gu, "'")
    .normalize('NFKC')
    .replaceAll(/[\s\p{Cc}\p{DI}\u0307]/gu, '')
    .replaceAll(/[\p{Pd}−⁃]/gu, '-')
    .replaceAll(/[ı\u0370-\u052f]/g, (letter) => latin[foreign.indexOf(letter)] ?? letter)
    // Spreadsheets add these.
    .replace(/^=?'+(.*?)'*$/, '$1')
    .replace(/^(\d+)\.0$/, '$1');

/**
 * A SKU without what people, shops and spreadsheets change about it. Only its first 1,000
 * characters count.
 */
export function normalSku(text: string): string {
  if (/^[\w-]+$/.test(text)) return text.toLowerCase();
  let normal = text.slice(0, 1000);
  // It may be encoded twice.
  for (let before = ''; before !== normal; normal = simpler(normal)) before = normal;
  return normal;
}

export const isSameSku = (one: string, other: string): boolean =>
  normalSku(one) === normalSku(other);

const asDigits = (text: string): string => text.replaceAll('o', '0').replaceAll(/[il]/g, '1');

/**
 * One is equal for SKUs that are easily mistaken for each other. A separator between two digits,
 * also written as letters, counts.
 */
const nearForms = (normal: string): readonly string[] =>
  [normal, asDigits(normal)].map((text) =>
    asDigits(
      text
        .replaceAll(/(?<!\d)[^\p{L}\p{N}]+|[^\p{L}\p{N}]+(?!\d)/gu, '')
        .replace(/^0+(?=\d+$)/, ''),
    ),
  );

/** A SKU map. It finds a SKU as it is written, else by its normal form. */
export class SkuMap extends Map<string, Sku> {
  /** By normal form. */
  readonly #names = new Map<string, string>();
  readonly #near = new Map<string, string>();

  constructor(skus: Iterable<readonly [string, Sku]>) {
    super(skus);
    for (const sku of this.keys()) this.#names.set(normalSku(sku), sku);
    this.#names.delete('');
  }

  override get(sku: string): Sku | undefined {
    return super.get(sku) ?? super.get(this.#names.get(normalSku(sku)) ?? '');
  }

  override has(sku: string): boolean {
    return this.get(sku) !== undefined;
  }

  get normalForms(): readonly string[] {
    return [...this.#names.keys()];
  }

  /** The SKU that is probably meant by one that is not in the map. */
  near(sku: string): string | undefined {
    const normal = normalSku(sku).slice(0, 200);
    if (this.#near.size === 0)
      for (const [form, name] of this.#names)
        for (const near of nearForms(form)) this.#near.set(near, name);
    // Shops copy a product as `A-1`, `A-copy` or `A (Copy)`.
    const forms = [normal, normal.replace(/(?:[-_(]*cop(?:y|ia|ie)[-_)\d]*|[-(][12]\)?)+$/, '')];
    // In short words, such as countries, each letter counts.
    for (const { 0: word, index } of normal.matchAll(/\p{L}{4,}/gu))
      for (let at = index + 1; at < index + word.length; at += 1)
        forms.push(
          `${normal.slice(0, at - 1)}${normal[at]}${normal[at - 1]}${normal.slice(at + 1)}`,
        );
    const found = forms.flatMap(nearForms).find((form) => form !== '' && this.#near.has(form));
    return this.#near.get(found ?? '');
  }

  /**
   * Why a SKU that is not in the map is ours all the same; null: it is not. @param before normal
   * forms that it had
   */
  whyOurs(sku: string, before: readonly string[]): string | null {
    const near = this.near(sku);
    if (near !== undefined) return `is not in the SKU map, which has ${quoted(near)}`;
    if (before.includes(normalSku(sku))) return 'the SKU map had before';
    // `MAR-20` may well be a SKU.
    return /^\s*\d/.test(sku) && mangledAs(sku.trim()) !== null
      ? 'looks changed by a spreadsheet'
      : null;
  }
}
