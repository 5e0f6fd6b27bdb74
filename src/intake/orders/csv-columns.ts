import { isCsvResultColumn } from '../../core/result/csv-result.ts';
import { nearestName } from '../../core/nearest-name.ts';
import { mayMean } from './column-words.ts';
import { DocumentError, type DocumentMistake } from './document-error.ts';
import type { FieldNames } from './check-line.ts';
import type { PlacedRule } from './row-rules.ts';
import { type CsvColumn, csvColumns, type ParseOptions, plainName } from './settings.ts';

export interface CsvHeader {
  readonly width: number;
  readonly delimiter: string;
  readonly known: ReadonlyMap<CsvColumn, number>;
  /**
   * Columns that are carried through to the result; not those that a CSV result adds, which may
   * have codes in them.
   */
  readonly extra: readonly { readonly name: string; readonly index: number }[];
  /** Columns without a name: their cells must be empty. */
  readonly unnamed: readonly number[];
  readonly rules: readonly PlacedRule[];
  readonly inherited: readonly number[];
  /** Names a field by the shop's name for its column. */
  readonly nameOf: FieldNames;
}

type ColumnRules = Pick<ParseOptions, 'columns' | 'skus' | 'currency' | 'format'>;

/**
 * Finds the columns of a header; case, spaces, `_` and `-` do not count. Throws DocumentError with
 * every mistake.
 */
export function readCsvHeader(
  cells: readonly string[],
  rules: ColumnRules,
  { line, delimiter }: { line: number; delimiter: string },
): CsvHeader {
  const names = cells.map((cell) => cell.trim());
  if (names.length > columnLimit) {
    const message = `The header names ${names.length} columns; at most ${columnLimit} are allowed.`;
    throw new DocumentError('too_many_columns', message, { line, hint: 'Export fewer columns.' });
  }
  const found = new FoundColumns(names, rules);
  if (found.mistakes.length > 0) throw mistakenHeader(found.mistakes, names, line);
  return {
    width: cells.length,
    delimiter,
    known: found.known,
    extra: names.flatMap((name, index) =>
      name === '' || found.isKnown(index) || isCsvResultColumn(name) ? [] : [{ name, index }],
    ),
    unnamed: names.flatMap((name, index) => (name === '' ? [index] : [])),
    rules: found.rules,
    inherited: rules.format.inherited.flatMap((name) => placeOf(names, [name]) ?? []),
    nameOf: (path) => {
      const column = csvColumns.find((known) => known === path[0]);
      return column === undefined
        ? String(path.at(-1) ?? '')
        : (names[found.known.get(column) ?? -1] ?? nameIn(rules, column));
    },
  };
}

/** A message is one line of a log; all mistakes are listed beside it. */
const messageLimit = 260;

function mistakenHeader(
  mistakes: readonly HeaderMistake[],
  names: readonly string[],
  line: number,
): DocumentError {
  const all = mistakes.map(({ message }) => message).join(' ');
  const [first = { code: '', message: '', hint }] = mistakes;
  const more = mistakes.length - 1;
  const others = ` There ${more === 1 ? 'is 1 more mistake' : `are ${more} more mistakes`}.`;
  const message =
    all.length <= messageLimit
      ? all
      : first.message.slice(0, messageLimit) + (more === 0 ? '' : others);
  const listed = mistakes.map((mistake) => ({
    line,
    code: mistake.code,
    message: mistake.message,
  }));
  return new DocumentError(first.code, message, {
    line,
    hint: first.hint,
    mistakes: listed,
    columns: names,
  });
}

/** How many of these names are known: by it the separator of a file is found. */
export function countKnownNames(names: readonly string[], rules: ColumnRules): number {
  const known = knownNames(rules, names);
  return names.filter((name) => known.has(plainName(name))).length;
}

const columnLimit = 500;
export const headerExample =
  'The first line names the columns, for example: order_id,variant,currency';
const restOfFile =
  '. If this is the rest of a file, send the whole file, named *.tmp until it is complete.';
const hint = 'Correct the header and send the file again.';
const shown = (name: string): string => JSON.stringify(name.slice(0, 64));
const nameIn = (rules: ColumnRules, column: CsvColumn): string =>
  namesOf(rules, column)?.[0] ?? column;

/** The names that a column may have, the best one first; null: the file does not have it. */
function namesOf({ columns, format }: ColumnRules, column: CsvColumn): readonly string[] | null {
  const named = columns[column];
  if (named !== undefined) return named === null ? null : [named];
  return format.columns[column] === undefined ? [column] : format.columns[column];
}

/** The place of the first of these columns that a file has. */
export function placeOf(names: readonly string[], wanted: readonly string[]): number | null {
  const found = wanted.map((one) =>
    names.findIndex((name) => name !== '' && plainName(name) === plainName(one)),
  );
  return found.find((index) => index >= 0) ?? null;
}

/** A row names its product in one of these; an ICCID alone is enough for a cancel. */
export const productColumns: readonly CsvColumn[] = ['variant', 'plan', 'sku', 'iccid'];

/** Short names that people give a column; no rule about single letters finds these. */
const abbreviations: Readonly<Record<string, CsvColumn>> = {
  order: 'order_id',
  orderno: 'order_id',
  ordernr: 'order_id',
  ordernumber: 'order_id',
  qty: 'quantity',
  qnty: 'quantity',
  pcs: 'quantity',
  ccy: 'currency',
  cur: 'currency',
};

/**
 * The columns that a file may have, by the plain form of their names. A name that the configuration
 * gives comes first.
 */
function knownNames(rules: ColumnRules, names: readonly string[]): ReadonlyMap<string, CsvColumn> {
  const { columns, skus } = rules;
  const byUse = csvColumns.toSorted(
    (one, other) => Number(columns[one] !== undefined) - Number(columns[other] !== undefined),
  );
  return new Map(
    byUse.flatMap((column): [string, CsvColumn][] => {
      const wanted = namesOf(rules, column);
      if (wanted === null || (column === 'sku' && skus === null)) return [];
      const [best = column] = wanted;
      return [[plainName(names[placeOf(names, wanted) ?? -1] ?? best), column]];
    }),
  );
}

type HeaderMistake = Omit<DocumentMistake, 'line'> & { readonly hint: string };

/**
 * Where a file lacks these, a default takes their place: never while another column may be meant.
 */
const unclearColumns = ['quantity', 'currency', 'line_id'] as const;
const otherwise: Readonly<Record<(typeof unclearColumns)[number], string>> = {
  quantity: 'each row is for one',
  currency: 'the balance that is set for the folder is charged',
  line_id: 'each order has one row',
};

/** The file has a column that may be one of ours, and nobody said which. */
export function unclearColumn(
  column: (typeof unclearColumns)[number],
  name: string,
): HeaderMistake {
  const message = `The column ${shown(name)} is perhaps the ${column} of each row.`;
  const isIt = `Set intake.folders[].columns to { ${column}: ${shown(name)} } if it is`;
  return {
    code: 'unclear_column',
    message,
    hint: `${isIt}, or to { ${column}: null } if it is not: then ${otherwise[column]}.`,
  };
}

export const saysPaid = (name: string): boolean =>
  mayMean('payment', name) && !mayMean('other_status', name);

function paymentColumn(name: string): HeaderMistake {
  const message = `The column ${shown(name)} seems to say whether an order is paid, cancelled or refunded.`;
  const only = `Set \`only\` of the folder to { ${shown(name)}: [paid] }, with the values of the rows to buy instead of paid`;
  const hintOf = `${only}, or to { ${shown(name)}: null } if the column says nothing about payment.`;
  return { code: 'payment_column', message, hint: hintOf };
}

class FoundColumns {
  readonly known = new Map<CsvColumn, number>();
  readonly mistakes: HeaderMistake[] = [];
  readonly rules: PlacedRule[] = [];
  readonly #names: readonly string[];
  readonly #rules: ColumnRules;

  constructor(names: readonly string[], rules: ColumnRules) {
    this.#names = names;
    this.#rules = rules;
    const columns = knownNames(rules, names);
    this.#placeRules();
    for (const [index, name] of names.entries()) this.#place(index, columns.get(plainName(name)));
    for (const [index, name] of names.entries())
      if (name !== '' && !this.isKnown(index) && !isCsvResultColumn(name))
        this.#checkOther(name, index, columns);
    // Then it is no header, and its cells say nothing about one.
    if (this.known.size === 0) this.mistakes.length = 0;
    this.#checkMissing();
  }

  #placeRules(): void {
    for (const rule of this.#rules.format.rules) {
      const index = placeOf(this.#names, rule.columns);
      if (index !== null) this.rules.push({ name: this.#names[index] ?? '', index, rule });
      else if (!rule.isOptional) {
        const message = `The header has no ${shown(rule.columns[0] ?? '')}: this column says which rows are to be bought.`;
        this.#add(
          'missing_column',
          message,
          'Add the column, or correct `only` or `format` of the folder.',
        );
      }
    }
  }

  isKnown(index: number): boolean {
    return [...this.known.values()].includes(index);
  }

  #add(code: string, message: string, whatToDo = hint): void {
    this.mistakes.push({ code, message, hint: whatToDo });
  }

  #place(index: number, column: CsvColumn | undefined): void {
    if (column === undefined) return;
    const first = this.known.get(column);
    if (first === undefined) {
      this.known.set(column, index);
      return;
    }
    const [one = '', other = ''] = [this.#names[first], this.#names[index]];
    const both =
      one === other
        ? `${shown(one)} twice`
        : `${shown(one)} and ${shown(other)}, but both mean the same column`;
    this.#add('duplicate_column', `The header names ${both}.`);
  }

  /**
   * A mistyped column would otherwise be carried through as an unknown one, and its cells would
   * have no effect.
   */
  #checkOther(name: string, index: number, columns: ReadonlyMap<string, CsvColumn>): void {
    if (columns.has(plainName(name))) return;
    if (this.#names.indexOf(name) !== index) {
      this.#add('duplicate_column', `The header names ${shown(name)} twice.`);
      return;
    }
    if (name === '__proto__' || /\p{Cc}/u.test(name)) {
      this.#add('bad_column_name', `${shown(name)} cannot be the name of a column.`);
      return;
    }
    const { columns: mapping, format } = this.#rules;
    const replaced = csvColumns.find((column) => plainName(column) === plainName(name));
    if (
      replaced !== undefined &&
      (mapping[replaced] !== undefined || format.columns[replaced] !== undefined)
    ) {
      const named = mapping[replaced];
      // It has something else under our name.
      if (typeof named !== 'string') return;
      const message = `The header has ${shown(name)}, but the configuration says that the column ${replaced} is called ${shown(named)}.`;
      this.#add(
        'unknown_column',
        message,
        'Correct the header, or intake.folders[].columns in the configuration.',
      );
      return;
    }
    // A format names every column of its shop that decides anything.
    if (Object.keys(format.columns).length > 0) return;
    const meant = this.#meant(name, columns);
    if (meant === undefined) {
      if (saysPaid(name) && !this.rules.some((rule) => rule.index === index))
        this.mistakes.push(paymentColumn(name));
      const unclear = unclearColumns.find(
        (column) =>
          !this.known.has(column) && mapping[column] === undefined && mayMean(column, name),
      );
      if (unclear !== undefined) this.mistakes.push(unclearColumn(unclear, name));
      return;
    }
    this.known.set(meant, index);
    const message = `${shown(name)} is not a known column: did you mean ${nameIn(this.#rules, meant)}?`;
    const orElse = `If this is another column, { ${meant}: null } accepts it under its own name.`;
    const whatToDo = `Correct the header, or set intake.folders[].columns to { ${meant}: ${shown(name)} }. ${orElse}`;
    this.#add('unknown_column', message, whatToDo);
  }

  #meant(name: string, columns: ReadonlyMap<string, CsvColumn>): CsvColumn | undefined {
    const simple = plainName(name);
    const absent = new Map([...columns].filter(([, column]) => !this.known.has(column)));
    const abbreviated = Object.hasOwn(abbreviations, simple) ? abbreviations[simple] : undefined;
    if (abbreviated !== undefined && [...absent.values()].includes(abbreviated)) return abbreviated;
    const nearest = simple.length > 64 ? undefined : nearestName(simple, [...absent.keys()]);
    return nearest === undefined ? undefined : absent.get(nearest);
  }

  /**
   * Only columns without which no row can be bought are missed here: `RowChecker` asks for what a
   * row lacks.
   */
  #checkMissing(): void {
    const { columns: mapping, skus, currency, format } = this.#rules;
    const has = (column: CsvColumn): boolean => this.known.has(column);
    // The exports of a shop always have it: without it, each row would be for one.
    const isOfFormat = (column: CsvColumn): boolean =>
      column === 'quantity' &&
      mapping[column] === undefined &&
      Array.isArray(format.columns[column]);
    const given = csvColumns.filter(
      (column) => (typeof mapping[column] === 'string' || isOfFormat(column)) && !has(column),
    );
    const missing = given.map((column) => nameIn(this.#rules, column).slice(0, 100));
    if (!has('order_id') && !given.includes('order_id')) missing.push('order_id');
    if (!productColumns.some(has)) {
      const names =
        skus === null
          ? 'variant or plan; sku needs intake.folders[].sku_map'
          : 'variant, plan or sku';
      missing.push(`a product (${names})`);
    }
    // A cancel charges no balance, and the SKU map may name one.
    if (
      !has('currency') &&
      currency === null &&
      !has('sku') &&
      !has('type') &&
      !given.includes('currency')
    ) {
      missing.push('currency (or set intake.folders[].currency)');
    }
    if (missing.length === 0) return;
    const filled = this.#names.filter((name) => name !== '');
    const withDigits = filled.filter((name) => /\d/.test(name));
    if (this.known.size === 0 && filled.length > 1 && withDigits.length * 2 >= filled.length) {
      const message = 'The first line looks like an order: the file has no header.';
      this.#add('missing_column', message, headerExample + restOfFile);
      return;
    }
    const isPiped = this.#names.length === 1 && this.#names[0]?.includes('|') === true;
    const whatToDo = isPiped
      ? 'The separator seems to be "|": add a first line "sep=|".'
      : `Add the column, or name it in the configuration under intake.folders[].columns${this.known.size > 0 ? '.' : restOfFile}`;
    const found = filled.slice(0, 8).map(shown).join(', ').slice(0, 120);
    this.#add(
      'missing_column',
      `The header has no ${missing.join(', ')}. It has ${found}.`,
      whatToDo,
    );
  }
}
