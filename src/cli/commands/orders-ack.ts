import { Argument, type Command } from 'commander';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { acknowledgedAtOnce } from '../../core/operator/operator-command.ts';
import type { Acknowledged } from '../../store/operator/acknowledgements.ts';
import type { AttentionFilter } from '../../store/read/attention.ts';
import { addAnswerOptions, configFrom, withReader, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { attentionTable, columnsOf } from '../table.ts';
import { exitCodes } from '../errors.ts';
import { durationMs } from '../option-values.ts';
import { jsonFields, plainLines, writeAnswer } from '../output.ts';
import { cliActor, sendCommand } from '../worker-client.ts';

interface AckOptions extends ConfigOptions {
  readonly reason: string;
  readonly code?: string;
  readonly source?: string;
  readonly olderThan?: number;
  readonly yes?: boolean;
}

type Which = Pick<AttentionFilter, 'ids' | 'code' | 'source' | 'beforeMs'>;

/** How many rows the preview shows; the count of all is not limited. */
const shownRows = 20;

export function addAck(orders: Command, context: CliContext): void {
  const command = orders
    .command('ack')
    .description('end rows of the attention list in which nothing is open any more')
    .addArgument(new Argument('[id...]', 'references, or other ids of the attention list'))
    .option('--code <code>', 'instead of ids: every row with this code')
    .option('--source <source>', 'instead of ids: every row of this shop')
    .option('--older-than <age>', 'instead of ids: every row older than this, for example 7d, 12h or 30min', durationMs)
    .option('--yes', 'without ids: do it, after it showed how many there are')
    .requiredOption('--reason <text>', 'why, for the audit log; at least 3 characters');
  addAnswerOptions(command).action(async (ids: string[], options: AckOptions) => {
    const { code, source, olderThan } = options;
    const isFiltered = code !== undefined || source !== undefined || olderThan !== undefined;
    if (ids.length > 0 === isFiltered || ids.length > acknowledgedAtOnce) {
      throw new OrderSyncError('USAGE', `Name what to acknowledge: at most ${acknowledgedAtOnce} ids, or a filter`, {
        hint: '`order-sync queue status` shows the ids; the filters are --code, --source and --older-than',
      });
    }
    if (!isFiltered) return await acknowledgeNamed(ids, options, context);
    // Nobody has seen the rows that come in from now on.
    const beforeMs = context.clock.wallMs() - (olderThan ?? 0);
    await acknowledgeFound({ code, source, beforeMs }, options, context);
  });
}

async function acknowledgeNamed(ids: readonly string[], options: AckOptions, context: CliContext): Promise<void> {
  const report = await send({ ids: [...new Set(ids)] }, options, context);
  const [refusal] = report.refused;
  if (refusal !== undefined && ids.length === 1) {
    throw new OrderSyncError(refusal.code, refusal.message, { hint: refusal.hint });
  }
  if (refusal !== undefined) context.setExitCode(exitCodes.refused);
  if (!options.json) {
    context.stderr.write(plainLines(report.refused.map(({ message, hint }) => `refused: ${message}; ${hint}`)));
  }
  writeAnswer(
    context.stdout,
    options.json,
    report,
    `${report.acknowledged.length} of ${ids.length} are acknowledged\n`,
  );
}

async function acknowledgeFound(which: Which, options: AckOptions, context: CliContext): Promise<void> {
  if (options.yes !== true) return preview(which, options, context);
  const acknowledged: string[] = [];
  for (let isMore = true; isMore; ) {
    const step = await send(which, options, context);
    acknowledged.push(...step.acknowledged);
    isMore = step.acknowledged.length === acknowledgedAtOnce;
  }
  const report = { acknowledged, refused: [] };
  writeAnswer(context.stdout, options.json, report, `${acknowledged.length} are acknowledged\n`);
}

async function preview(which: Which, options: AckOptions, context: CliContext): Promise<void> {
  const { counts, rows, others } = await withReader(options, (reader) => ({
    counts: reader.attentionCounts({ ...which, canAcknowledge: true }),
    rows: reader.attention(shownRows, { ...which, canAcknowledge: true }),
    others: reader.attentionCounts({ ...which, canAcknowledge: false }),
  }));
  const [count, left] = [total(counts), total(others)];
  const json = { would_acknowledge: count, counts, first: rows.map(jsonFields), need_decision: left };
  const kinds = Object.entries(counts).map(([kind, of]) => `${of} ${kind}`);
  const parts = [
    `${[count, ...(count === 0 ? [] : [`(${kinds.join(', ')})`])].join(' ')} would be acknowledged; do it with --yes\n`,
    left === 0 ? '' : `${left} more need a decision and stay\n`,
    count > rows.length ? `The first ${rows.length} of them:\n` : '',
  ];
  const text = [parts.join(''), attentionTable(rows, columnsOf(context))].filter((part) => part !== '').join('\n');
  writeAnswer(context.stdout, options.json, json, text);
}

const total = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);

async function send(which: Which, options: AckOptions, context: CliContext): Promise<Acknowledged> {
  const { config } = await configFrom(options);
  const command = { action: 'acknowledge', which, actor: cliActor(), reason: options.reason } as const;
  const result = await sendCommand(config, command, context);
  if (result.kind !== 'acknowledged') return { acknowledged: [], refused: [] };
  const { acknowledged, refused } = result;
  return { acknowledged, refused };
}
