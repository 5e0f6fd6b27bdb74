import { Argument, type Command } from 'commander';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { acknowledgedAtOnce } from '../../core/operator/operator-command.ts';
import type { AttentionFilter } from '../../store/read/attention.ts';
import { addAnswerOptions, configFrom, withReader, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { attentionTable, columnsOf, countsText, totalOf } from '../table.ts';
import { exitCodes } from '../errors.ts';
import { durationMs } from '../option-values.ts';
import { jsonFields, writeAnswer, writeNotes } from '../output.ts';
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
    const which = { code, source, beforeMs: context.clock.wallMs() - (olderThan ?? 0) };
    await (options.yes === true ? acknowledgeFound : preview)(which, options, context);
  });
}

async function acknowledgeNamed(ids: readonly string[], options: AckOptions, context: CliContext): Promise<void> {
  const { acknowledged, refused } = await acknowledge({ ids: [...new Set(ids)] }, options, context);
  const [refusal] = refused;
  if (refusal !== undefined && ids.length === 1) {
    throw new OrderSyncError(refusal.code, refusal.message, { hint: refusal.hint });
  }
  if (refusal !== undefined) context.setExitCode(exitCodes.refused);
  const notes = refused.map(({ message, hint }) => `refused: ${message}; ${hint}`);
  writeNotes(context, options, notes);
  const text = `${acknowledged.length} of ${ids.length} are acknowledged\n`;
  writeAnswer(context, options, { acknowledged, refused }, text);
}

async function acknowledgeFound(which: Which, options: AckOptions, context: CliContext): Promise<void> {
  const all: string[] = [];
  for (let isMore = true; isMore; ) {
    const { acknowledged } = await acknowledge(which, options, context);
    all.push(...acknowledged);
    isMore = acknowledged.length === acknowledgedAtOnce;
  }
  writeAnswer(context, options, { acknowledged: all, refused: [] }, `${all.length} are acknowledged\n`);
}

async function preview(which: Which, options: AckOptions, context: CliContext): Promise<void> {
  const { counts, rows, left } = await withReader(options, (reader) => ({
    counts: reader.attentionCounts({ ...which, canAcknowledge: true }),
    rows: reader.attention(shownRows, { ...which, canAcknowledge: true }),
    left: totalOf(reader.attentionCounts({ ...which, canAcknowledge: false })),
  }));
  const count = totalOf(counts);
  const json = { would_acknowledge: count, counts, first: rows.map(jsonFields), need_decision: left };
  const head = [
    `${count}${count === 0 ? '' : ` (${countsText(counts)})`} would be acknowledged; do it with --yes\n`,
    left === 0 ? '' : `${left} more need a decision and stay\n`,
    count > rows.length ? `The first ${rows.length} of them:\n` : '',
  ].join('');
  const text = [head, attentionTable(rows, columnsOf(context))].filter(Boolean).join('\n');
  writeAnswer(context, options, json, text);
}

async function acknowledge(which: Which, options: AckOptions, context: CliContext) {
  const { config } = await configFrom(options);
  const command = { action: 'acknowledge', which, actor: cliActor(), reason: options.reason } as const;
  return await sendCommand(config, command, 'acknowledged', context);
}
