import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { messageOf } from '../../core/message-text.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { type CsvFormat, csvColumns, type Only } from './settings.ts';

const names = z.array(z.string().min(1).max(200)).min(1).max(20);
const values = z.array(z.string().max(200)).max(100);
const rule = z
  .strictObject({
    column: names,
    optional: z.boolean().default(false),
    buys: values,
    skips: values,
  })
  .transform(({ column: columns, optional: isOptional, buys, skips }) => ({
    columns,
    isOptional,
    buys,
    skips,
  }));
export const formatSchema = z.strictObject({
  columns: z.partialRecord(z.enum(csvColumns), names.nullable()),
  line_id: z.enum(['column', 'sku']).default('column'),
  inherited: z.array(z.string().min(1).max(200)).max(100).default([]),
  rows: z.array(rule).min(1).max(20),
});

/** What a file of our own has: our columns, and nothing about payment. */
const ownFormat: CsvFormat = { columns: {}, rules: [], inherited: [], lineIdIsSku: false };

/**
 * The format of a folder: one in `config/formats`, or a file in that form. The columns of
 * `only` are judged first.
 * @throws OrderSyncError CONFIG_INVALID when there is no such format
 */
export function readCsvFormat({
  format: name,
  only,
}: {
  readonly format: string;
  readonly only: Only;
}): CsvFormat {
  const format = name === 'own' ? ownFormat : formatIn(name);
  const own = Object.entries(only).map(([column, buys]) => ({
    columns: [column],
    isOptional: false,
    buys,
    skips: null,
  }));
  const isOwn = (column: string): boolean =>
    Object.keys(only).some((key) => key.toLowerCase() === column.toLowerCase());
  return {
    ...format,
    rules: [...own, ...format.rules.filter(({ columns }) => !columns.some(isOwn))],
  };
}

/** The formats of shops that come with the program, by name. */
export const shopFormats = (): readonly (readonly [name: string, format: CsvFormat])[] =>
  formatNames().map((name) => [name, formatIn(name)]);

const formatNames = (): readonly string[] =>
  readdirSync(folder).map((file) => file.replace(/\.yaml$/, ''));

const folder = join(import.meta.dirname, '../../../config/formats');

function formatIn(name: string): CsvFormat {
  const file = /^\w+$/.test(name) ? join(folder, `${name}.yaml`) : name;
  try {
    const {
      columns,
      line_id: lineId,
      inherited,
      rows,
    } = formatSchema.parse(parse(readFileSync(file, 'utf8')));
    return { columns, rules: rows, inherited, lineIdIsSku: lineId === 'sku' };
  } catch (error) {
    const why = error instanceof z.ZodError ? z.prettifyError(error) : messageOf(error);
    throw new OrderSyncError(
      'CONFIG_INVALID',
      `The format "${name}" of order files cannot be used: ${why}`,
      { hint: `name \`own\`, ${formatNames().join(', ')}, or a file with the same structure` },
    );
  }
}
