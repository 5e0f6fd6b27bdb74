import { createReadStream } from 'node:fs';
import { Argument, type Command, Option } from 'commander';
import type { Config } from '../../config/config.ts';
import { submitCommandSchema, type CommandResult } from '../../core/entry/operator-command.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { formatOf } from '../../intake/folder/file-names.ts';
import { DocumentError } from '../../intake/orders/document-error.ts';
import { type OrderFormat, parseOrders } from '../../intake/orders/parse-orders.ts';
import type { LineRejection, CheckedLine } from '../../intake/orders/checked-line.ts';
import { addConfigOptions, configFrom, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { exitCodes } from '../errors.ts';
import { sendCommand } from '../worker-client.ts';
import { plainText, renderTable } from '../output.ts';

type Line = Extract<CheckedLine, { kind: 'line' }>['line'];
type Submitted = Extract<CommandResult, { kind: 'submitted' }>['lines'][number];

const formats = ['json', 'ndjson', 'csv'] as const;
/** A command to the worker has at most 1 MiB, and a transaction should not hold the outbox for long. */
const batch = { lines: 500, bytes: 700_000 };
const shownMistakes = 20;

export function addSubmit(program: Command, context: CliContext): void {
  const submit = program
    .command('submit')
    .description('hand over orders, without the watched folder; prints their references')
    .addArgument(new Argument('<file>', 'an order file, or - for standard input'))
    .addOption(
      new Option('--format <format>', 'of standard input, or of a file whose name does not tell').choices(formats),
    )
    .option('--json', 'print JSON');
  addConfigOptions(submit).action(
    async (file: string, options: ConfigOptions & { format?: OrderFormat; json?: boolean }) => {
      const { config } = configFrom(options);
      const format = options.format ?? (file === '-' ? 'json' : formatOf(file));
      if (format === null) {
        throw new OrderSyncError('USAGE', `The name of ${file} does not tell its format`, {
          hint: 'say it with --format json, ndjson or csv',
        });
      }
      const lines = await readLines(file, format, config);
      const submitted: Submitted[] = [];
      for (const part of batches(lines)) {
        const command = submitCommandSchema.parse({ action: 'submit', lines: part });
        const result = await sendCommand(config, command, context);
        if (result.kind === 'submitted') submitted.push(...result.lines);
      }
      if (submitted.some((line) => line.status === 'conflict')) context.setExitCode(exitCodes.refused);
      context.stdout.write(options.json ? `${JSON.stringify({ lines: submitted.map(asJson) })}\n` : asText(submitted));
    },
  );
}

/** All lines of a document, or its mistakes: whoever runs this is there to correct them, so nothing is half done. */
async function readLines(file: string, format: OrderFormat, config: Config): Promise<readonly Line[]> {
  const { source, limits, columns } = config.intake.folder;
  const chunks: AsyncIterable<Uint8Array> = file === '-' ? process.stdin : createReadStream(file);
  const lines: Line[] = [];
  const rejections: LineRejection[] = [];
  try {
    for await (const items of parseOrders(chunks, format, { source, limits, columns })) {
      for (const item of items) {
        if (item.kind === 'line') lines.push(item.line);
        else rejections.push(item.rejection);
      }
    }
  } catch (error) {
    if (error instanceof DocumentError) {
      throw new OrderSyncError('REFUSED', error.message, error.hint === undefined ? {} : { hint: error.hint });
    }
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
      throw new OrderSyncError('NOT_FOUND', `There is no file ${file}`, { hint: 'check its name', cause: error });
    }
    throw error;
  }
  if (rejections.length > 0) {
    const shown = rejections.slice(0, shownMistakes).map(mistake);
    if (rejections.length > shown.length) shown.push(`  and ${rejections.length - shown.length} more`);
    throw new OrderSyncError('REFUSED', [`${rejections.length} lines cannot be accepted:`, ...shown].join('\n'), {
      hint: 'nothing was submitted: correct them and submit it again',
    });
  }
  if (lines.length === 0) throw new OrderSyncError('REFUSED', `${file} holds no orders`);
  return lines;
}

function mistake({ lineNumber, orderId, lineId, field, rule, value }: LineRejection): string {
  const where = [
    lineNumber === null ? null : `line ${lineNumber}`,
    orderId === null ? null : `order ${orderId}`,
    lineId === null ? null : `line_id ${lineId}`,
  ].filter((part) => part !== null);
  return `  ${where.join(', ')}: ${field ?? 'line'} ${rule}${value === null ? '' : `, got ${value}`}`;
}

function* batches(lines: readonly Line[]): Generator<readonly Line[]> {
  let part: Line[] = [];
  let bytes = 0;
  for (const line of lines) {
    const size = Buffer.byteLength(JSON.stringify(line));
    if (part.length > 0 && (part.length >= batch.lines || bytes + size > batch.bytes)) {
      yield part;
      [part, bytes] = [[], 0];
    }
    part.push(line);
    bytes += size;
  }
  if (part.length > 0) yield part;
}

function asJson(line: Submitted): Record<string, unknown> {
  const { status, source, orderId, lineId, reference, differences } = line;
  return { status, source, order_id: orderId, line_id: lineId, reference, differences };
}

function asText(lines: readonly Submitted[]): string {
  const rows = lines.map((line) => [line.source, line.orderId, line.lineId, line.status, line.reference]);
  const conflicts = lines
    .filter((line) => line.status === 'conflict')
    .map((line) => {
      const what = line.differences.map((it) => `${it.field}: ${String(it.was)} then, ${String(it.is)} now`).join('; ');
      return `${line.orderId}/${line.lineId} was ordered before with other content (${what}); nothing was sent for this one`;
    });
  const table = renderTable(['SOURCE', 'ORDER', 'LINE', 'STATUS', 'REFERENCE'], rows);
  return [table, ...conflicts.map((text) => `${plainText(text)}\n`)].join('');
}
