import { nearestName } from '../../core/nearest-name.ts';
import { DocumentError } from './document-error.ts';
import { type ColumnMapping, type CsvColumn, csvColumns } from './settings.ts';

const optionalColumns: readonly CsvColumn[] = ['source', 'not_after'];

export interface CsvHeader {
  readonly width: number;
  /** The index of each known column. */
  readonly known: ReadonlyMap<CsvColumn, number>;
  /** Columns that are carried through to the result. */
  readonly extra: readonly { readonly name: string; readonly index: number }[];
  /** Columns without a name: their cells must be empty. */
  readonly unnamed: readonly number[];
  /** The shop's name for a column. */
  nameOf(column: CsvColumn): string;
}

/** Finds the columns of a header. Throws DocumentError when one is missing, named twice or probably mistyped. */
export function readCsvHeader(cells: readonly string[], mapping: ColumnMapping, line: number): CsvHeader {
  const nameOf = (column: CsvColumn): string => mapping[column] ?? column;
  const names = cells.map((cell) => cell.trim());
  if (!csvColumns.some((column) => mapping[column] !== null && names.includes(nameOf(column)))) {
    throw missingColumns(csvColumns.filter((column) => !optionalColumns.includes(column)).map(nameOf), [], names, line);
  }
  rejectUnusableNames(names, line);
  const known = new Map<CsvColumn, number>();
  for (const column of csvColumns) {
    const index = names.indexOf(nameOf(column));
    if (mapping[column] !== null && index >= 0) known.set(column, index);
  }
  const knownIndexes = new Set(known.values());
  const missing = csvColumns.filter(
    (column) =>
      !known.has(column) && mapping[column] !== null && (!optionalColumns.includes(column) || column in mapping),
  );
  const others = names.filter((name, index) => name !== '' && !knownIndexes.has(index));
  if (missing.length > 0) throw missingColumns(missing.map(nameOf), others, names, line);
  rejectMistypedNames(others, known, mapping, nameOf, line);
  return {
    width: cells.length,
    known,
    extra: names.flatMap((name, index) => (name === '' || knownIndexes.has(index) ? [] : [{ name, index }])),
    unnamed: names.flatMap((name, index) => (name === '' ? [index] : [])),
    nameOf,
  };
}

const columnLimit = 500;
const hint = 'Correct the header and send the file again.';
const shown = (name: string): string => JSON.stringify(name.slice(0, 64));
const meantName = (name: string, known: readonly string[]): string | null =>
  name.length > 64 ? null : (nearestName(name, known) ?? null);

function rejectUnusableNames(names: readonly string[], line: number): void {
  if (names.length > columnLimit) {
    const message = `The header names ${names.length} columns; at most ${columnLimit} are allowed.`;
    throw new DocumentError('too_many_columns', message, { line, hint: 'Export fewer columns.' });
  }
  for (const [index, name] of names.entries()) {
    if (name !== '' && names.indexOf(name) !== index) {
      throw new DocumentError('duplicate_column', `The header names ${shown(name)} twice.`, { line, hint });
    }
    if (name === '__proto__' || /\p{Cc}/u.test(name)) {
      throw new DocumentError('bad_column_name', `${shown(name)} cannot be the name of a column.`, { line, hint });
    }
  }
}

function missingColumns(
  missing: readonly string[],
  others: readonly string[],
  names: readonly string[],
  line: number,
): DocumentError {
  const near = others.flatMap((name) => {
    const meant = meantName(name, missing);
    return meant === null ? [] : [`${shown(name)}: did you mean ${meant}?`];
  });
  const hasOtherSeparator = names.length === 1 && /[;\t|]/.test(names[0] ?? '');
  return new DocumentError('missing_column', `The header lacks ${missing.join(', ')}. ${near.join(' ')}`.trim(), {
    line,
    hint: hasOtherSeparator
      ? 'The separator seems not to be a comma: add a first line "sep=;" with the separator that the file uses.'
      : 'Add the column (its cells may be empty), or name it in the configuration under intake.folder.columns.',
  });
}

/** A mistyped optional column would otherwise be carried through as an unknown one, and its cells have no effect. */
function rejectMistypedNames(
  others: readonly string[],
  known: ReadonlyMap<CsvColumn, number>,
  mapping: ColumnMapping,
  nameOf: (column: CsvColumn) => string,
  line: number,
): void {
  const absent = csvColumns.filter((column) => !known.has(column) && mapping[column] !== null);
  for (const name of others) {
    const mapped = csvColumns.find((column) => column === name && mapping[column] !== undefined);
    const meant = mapped ?? meantName(name, absent.map(nameOf));
    if (meant !== null) {
      throw new DocumentError('unknown_column', `${shown(name)} is not a known column: did you mean ${meant}?`, {
        line,
        hint: 'Correct the header, or map the column in the configuration under intake.folder.columns.',
      });
    }
  }
}
