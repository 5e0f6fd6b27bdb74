import { Readable } from 'node:stream';
import { Argument, type Command, Option } from 'commander';
import type { Config } from '../../config/config.ts';
import { submitCommandSchema, type ResultOf } from '../../core/operator/operator-command.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import type { FolderSettings } from '../../intake/folder/settings.ts';
import { formatOf } from '../../intake/folder/file-names.ts';
import { checkDocument, tooLarge } from '../../intake/orders/check-document.ts';
import { DocumentError } from '../../intake/orders/document-error.ts';
import type { OrderFormat } from '../../intake/orders/settings.ts';
import { parseOrders } from '../../intake/orders/parse-orders.ts';
import type { CheckedLine } from '../../intake/orders/check-line.ts';
import type { CheckedRow } from '../../intake/orders/check-row.ts';
import { readCsvFormat } from '../../intake/orders/csv-formats.ts';
import { proposalFor } from '../../intake/orders/propose-columns.ts';
import { orderedText } from '../../core/order/purchase.ts';
import { withSkuRules } from '../../intake/orders/sku-source.ts';
import type { NewRejection } from '../../store/intake/rejections.ts';
import { readSkuFile } from '../../storefronts/sku-file.ts';
import { addAnswerOptions, configFrom, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { exitCodes } from '../errors.ts';
import { readInput } from '../input.ts';
import { sendCommand } from '../worker-client.ts';
import { jsonFields, plainLines, writeAnswer, sayWhatTakesLong } from '../output.ts';
import { renderTable } from '../table.ts';

type Line = Extract<CheckedLine, { kind: 'line' }>['line'];
type Submitted = ResultOf<'submitted'>['lines'][number];

const formats = ['json', 'ndjson', 'csv'] as const;
/** A command to the worker has at most 1 MiB, and a long transaction would block the outbox. */
const mostPerBatch = { lines: 500, bytes: 700_000 };
const shownMistakes = 20;

type SubmitOptions = ConfigOptions & {
  readonly format?: OrderFormat;
  readonly folder?: string;
  readonly check?: boolean;
};

export function addSubmit(program: Command, context: CliContext): void {
  const submit = program
    .command('submit')
    .addArgument(new Argument('<file>', 'an order file, or - for standard input'))
    .addOption(
      new Option(
        '--format <format>',
        'the format, if the file name does not show it (default: json)',
      ).choices(formats),
    );
  submit.option(
    '--check',
    'show what each row would buy, and order nothing; for a file that the settings do not fit, propose settings',
  );
  submit.option(
    '--folder <name>',
    'the watched folder whose settings apply, where there are several',
  );
  addAnswerOptions(submit).action(async (file: string, options: SubmitOptions) => {
    const { config } = await configFrom(options);
    const format = options.format ?? (file === '-' ? 'json' : formatOf(file));
    if (format === null) {
      throw new OrderSyncError('USAGE', `The name of ${file} does not show its format`, {
        hint: 'give the format with --format json, ndjson or csv',
      });
    }
    const folder = folderOf(config, options.folder);
    if (options.check === true)
      return checkFile(await readAll(file, format, folder), options, context);
    const lines = await readLines(file, format, folder, context);
    const submitted: Submitted[] = [];
    if (lines.length > mostPerBatch.lines)
      sayWhatTakesLong(context, options, `${lines.length} lines`);
    for (const batch of batches(lines)) {
      const command = submitCommandSchema.parse({ action: 'submit', lines: batch });
      submitted.push(...(await sendCommand(config, command, 'submitted', context)).lines);
    }
    if (submitted.some(({ status }) => status === 'conflict' || status === 'refused'))
      context.setExitCode(exitCodes.refused);
    writeAnswer(context, options, { lines: submitted.map(jsonFields) }, asText(submitted));
  });
}

/** The first could have a wrong source or currency. */
function folderOf({ intake: { folders } }: Config, wanted: string | undefined): FolderSettings {
  const [found, other] = folders.filter(({ name }) => name === (wanted ?? name));
  if (found !== undefined && other === undefined) return found;
  const names = folders.map(({ name }) => name).join(', ');
  throw new OrderSyncError(
    'USAGE',
    `--folder must name the folder of intake.folders whose settings apply: ${names}`,
  );
}

/** A document, row by row. Throws an error with the mistakes of the document as a whole. */
async function readAll(file: string, format: OrderFormat, folder: FolderSettings) {
  const { limits, skuMap } = folder;
  const skus = skuMap === null ? null : readSkuFile(skuMap).map;
  const options = { ...folder, format: readCsvFormat(folder), skus };
  const items: CheckedRow[] = [];
  try {
    // It is read twice, as in the watched folder: rows say what they mean only together with the
    // others of their order.
    const parts = await readInput(file, limits.documentBytes, () => tooLarge(limits));
    const { counted } = await checkDocument(Readable.from(parts), format, options);
    for await (const some of parseOrders(Readable.from(parts), format, options, counted))
      items.push(...some);
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error;
    const mistakes = error.mistakes.slice(0, shownMistakes).map(({ message }) => `  ${message}`);
    const proposed = proposalFor(error.columns).map((line) => `  ${line}`);
    const may =
      proposed.length === 0
        ? []
        : ['Perhaps these settings of its watched folder fit this file:', ...proposed];
    const names = error.columns.slice(0, 100).map((name) => JSON.stringify(name.slice(0, 64)));
    const has = names.length === 0 ? [] : [`The file has the columns ${names.join(', ')}.`];
    const message = [error.message, ...mistakes, ...has, ...may].join('\n');
    throw new OrderSyncError('NOT_ALLOWED', message, { hint: error.hint });
  }
  return { items, skus };
}

/**
 * All lines of a document, or an error with its mistakes: the caller corrects them, so nothing is
 * submitted in part.
 */
async function readLines(
  file: string,
  format: OrderFormat,
  folder: FolderSettings,
  { clock }: CliContext,
): Promise<readonly Line[]> {
  const { items, skus } = await readAll(file, format, folder);
  const rejections = items.flatMap((item) => (item.kind === 'rejection' ? [item.rejection] : []));
  if (rejections.length > 0) {
    const shown = rejections.slice(0, shownMistakes).map(mistake);
    if (rejections.length > shown.length)
      shown.push(`  and ${rejections.length - shown.length} more`);
    throw new OrderSyncError(
      'NOT_ALLOWED',
      [`${rejections.length} lines cannot be accepted:`, ...shown].join('\n'),
      {
        hint: 'nothing was submitted: correct these lines, then submit the whole file again',
      },
    );
  }
  const lines = items.flatMap((item) =>
    item.kind === 'line' ? [withSkuRules(item.line, skus, clock.wallMs())] : [],
  );
  if (lines.length === 0)
    throw new OrderSyncError('NOT_ALLOWED', `${file} holds no orders that are to be bought`);
  return lines;
}

/** Says of each row what would be bought for it. */
function checkFile(
  { items }: Awaited<ReturnType<typeof readAll>>,
  options: ConfigOptions,
  context: CliContext,
): void {
  const rows = items.map((item) => {
    if (item.kind === 'skipped')
      return { ...item, line_id: null, outcome: 'ignored: not paid, or other goods' };
    if (item.kind === 'line') {
      const { lineNumber, orderId, lineId, rules = {} } = item.line;
      return {
        kind: 'bought',
        lineNumber,
        orderId,
        line_id: lineId,
        outcome: orderedText(item.line, rules),
      };
    }
    const { lineNumber, orderId, lineId } = item.rejection;
    return {
      kind: 'rejected',
      lineNumber,
      orderId,
      line_id: lineId,
      outcome: mistake(item.rejection).trim(),
    };
  });
  const lines = rows.map(({ kind, lineNumber, orderId, line_id, outcome }) => {
    return { line: lineNumber, order_id: orderId, line_id, result: kind, text: outcome };
  });
  const cells = lines.map((row) =>
    [row.line, row.order_id, row.line_id, row.result, row.text].map((it) => String(it ?? '')),
  );
  const text = renderTable(['LINE', 'ORDER', 'LINE ID', 'RESULT', 'WHAT'], cells);
  writeAnswer(context, options, { lines }, `${text}nothing was submitted\n`);
}

function mistake({ lineNumber, orderId, lineId, field, rule, value }: NewRejection): string {
  const where = [
    lineNumber && `line ${lineNumber}`,
    orderId && `order ${orderId}`,
    lineId && `line_id ${lineId}`,
  ];
  return `  ${where.filter(Boolean).join(', ')}: ${field ?? 'line'} ${rule}${value === null ? '' : `, got ${value}`}`;
}

function* batches(lines: readonly Line[]): Generator<readonly Line[]> {
  let batch: Line[] = [];
  let bytes = 0;
  for (const line of lines) {
    const size = Buffer.byteLength(JSON.stringify(line));
    if (
      batch.length > 0 &&
      (batch.length >= mostPerBatch.lines || bytes + size > mostPerBatch.bytes)
    ) {
      yield batch;
      [batch, bytes] = [[], 0];
    }
    batch.push(line);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}

function asText(lines: readonly Submitted[]): string {
  const rows = lines.map((line) => [
    line.source,
    line.orderId,
    line.lineId,
    line.status,
    line.reference ?? '',
  ]);
  const refused = lines.flatMap(({ orderId, lineId, status, differences }) => {
    const place = `${orderId}/${lineId}`;
    if (status === 'refused')
      return differences.map(
        ({ field, was, is }) => `${place}: ${field} ${String(was)}; got ${String(is)}`,
      );
    if (status !== 'conflict') return [];
    const what = differences
      .map((it) => `${it.field}: ${String(it.was)} then, ${String(it.is)} now`)
      .join('; ');
    return `${place} was ordered before with other content (${what}); nothing is bought for the new content`;
  });
  const table = renderTable(['SOURCE', 'ORDER', 'LINE', 'STATUS', 'REFERENCE'], rows);
  return table + plainLines(refused);
}
