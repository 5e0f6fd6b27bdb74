import { withoutCancelled } from './delivered-lines.ts';
import { unitFieldNames } from '../answers/unit-fields.ts';
import type { ResultEntry, ResultLine } from './result-document.ts';

/**
 * The columns that are added to the rows of a CSV order file. In an order file they are ignored: it
 * may be a result.
 */
export const csvResultColumns = [
  'result_state',
  'result_reference',
  'result_order_number',
  'result_cost',
  'result_currency',
  ...unitFieldNames.map((name) => `result_${name}` as const),
  'result_error_code',
  'result_error_message',
] as const;

export const isCsvResultColumn = (name: string): boolean =>
  csvResultColumns.some((column) => column === name.trim().toLowerCase());

export interface OriginalCsv {
  /** Whether it begins with a byte order mark. */
  readonly hasMark: boolean;
  readonly lineEnd: string;
  /**
   * All of its records, in their order. To read them to the end fails when they are not those that
   * were taken in.
   */
  readonly records: AsyncIterable<readonly OriginalRecord[]>;
}

export interface OriginalRecord {
  readonly cells: readonly string[];
  /** The line of text on which it begins. */
  readonly lineNumber: number;
  readonly isBlank: boolean;
}

/** Between the values of several units, or of several orders for one line. */
const separator = ' ; ';

/**
 * Where a program for spreadsheets takes text for a formula (OWASP, CSV injection): at the
 * beginning of a cell, which is also after the separator of another country.
 */
const beginsFormula = /(^|[;,\t])(?=[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20])/g;
const escapedFormula = /(^|[;,\t])'[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/;

/**
 * Text from outside, so that no spreadsheet takes it for a formula: an apostrophe stands before it
 * where one could.
 */
export function withoutFormula(cell: string): string {
  return cell.replaceAll(beginsFormula, "$1'");
}

/** Whether a cell has an apostrophe of `withoutFormula`. */
export const isWithoutFormula = (cell: string): boolean => escapedFormula.test(cell);

/**
 * A value that a person or a program types in or redeems as it stands. It gets an apostrophe only
 * when a formula could call or reach something: that takes brackets, or a sign such as | or !,
 * which codes do not have.
 */
function usable(value: string): string {
  return /^.[\p{L}\p{N} ._;-]*$/u.test(value) ? value : withoutFormula(value);
}

const delivered: readonly ResultEntry['state'][] = ['fulfilled', 'needs_manual_delivery'];

/** The units that can be handed out: a row that shows a code says so. */
const usableUnits = (entry: ResultEntry) =>
  delivered.includes(entry.state) ? withoutCancelled(entry, entry.units) : [];

export function csvResultCells(line: ResultLine): readonly string[] {
  const entries = line.entries;
  const units = entries.flatMap(usableUnits);
  const of = (read: (entry: ResultEntry) => string | null): string =>
    withoutFormula(joined(entries.map((entry) => read(entry) ?? '')));
  const errors = [
    ...[line.error, ...entries.map(({ error }) => error)].filter((it) => it !== null).slice(0, 1),
    ...entries
      .flatMap(({ cancelled_iccids: iccids = [] }) => iccids)
      .map((iccid) => ({ code: 'esim_cancelled', message: `The eSIM ${iccid} was cancelled` })),
  ];
  return [
    line.state,
    of(({ reference }) => reference),
    of(({ order_number: number }) => number),
    of(({ cost }) => cost),
    of(({ currency }) => currency),
    ...unitFieldNames.map((name) => usable(joined(units.map((unit) => unit[name] ?? '')))),
    withoutFormula(errors[0]?.code ?? ''),
    withoutFormula(joined(errors.map(({ message }) => message))),
  ];
}

/**
 * Empty where no value is; otherwise each value has its place, so that code and PIN of one unit are
 * found together.
 */
function joined(values: readonly string[]): string {
  return values.every((value) => value === '') ? '' : values.map(oneLine).join(separator);
}

/** A row of a result is one line of text, unless its order file had line breaks in it. */
const oneLine = (text: string): string => text.replace(/[\r\n]+/g, ' ');
