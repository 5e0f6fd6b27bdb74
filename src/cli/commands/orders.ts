import { Argument, type Command, Option } from 'commander';
import { type EntryState, entryStates } from '../../core/entry/states.ts';
import { shortTime } from '../../core/clock.ts';
import type { Attention, AttentionFilter } from '../../store/read/attention.ts';
import { type OrderSummary, stateCounts } from '../../store/read/list-orders.ts';
import type { OutboxReader } from '../../store/read/outbox-reader.ts';
import {
  addAnswerOptions,
  addBulk,
  type BulkForm,
  configFrom,
  type ConfigOptions,
  reasonToAct,
  withReader,
} from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { jsonFields, writeAnswer, writeNotes } from '../output.ts';
import { durationMs, wholeNumber } from '../option-values.ts';
import { attentionTable, columnsOf, renderTable } from '../table.ts';
import { addOrderDecisions } from './orders-decide.ts';
import { addShow } from './orders-show.ts';
import { countsText, totalOf } from '../../core/counts.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { acknowledgedAtOnce } from '../../core/operator/operator-command.ts';
import { exitCodes } from '../errors.ts';
import { cliActor, sendCommand } from '../worker-client.ts';

interface ListOptions extends ConfigOptions {
  readonly state?: EntryState;
  readonly source?: string;
  readonly search?: string;
  readonly attention?: boolean;
  readonly limit: number;
  readonly before?: number;
}

export function addOrders(program: Command, context: CliContext): void {
  const orders = program.command('orders');
  addList(orders, context);
  addShow(orders, context);
  addAck(orders, context);
  addOrderDecisions(orders, context);
}

function addList(orders: Command, context: CliContext): void {
  const list = orders
    .command('list')
    .description('list orders, newest first')
    .addOption(
      new Option('--state <state>', 'only orders with an entry in this state').choices(entryStates),
    )
    .option('--source <source>', 'of this shop')
    .option(
      '--search <text>',
      'search by order id, order number, SKU, e-mail address or the end of a code',
    )
    .option('--attention', 'only orders in the attention list, followed by the rows of the list')
    .option('--limit <n>', 'at most this many', wholeNumber(1, 1000), 50)
    .option(
      '--before <id>',
      'continue the list with the orders before this id',
      wholeNumber(1, Number.MAX_SAFE_INTEGER),
    );
  addAnswerOptions(list).action((options: ListOptions) =>
    withReader(options, (reader) => {
      const { limit, before, state, source, search, attention } = options;
      const found = reader.listOrders({
        limit: limit + 1,
        state,
        source,
        search,
        attention,
        beforeId: before,
      });
      const shown = found.slice(0, limit);
      const next = found.length > limit ? (shown.at(-1)?.id ?? null) : null;
      const rows = attentionRows(reader, options);
      // Rows of files belong to no order.
      if (shown.length + (rows?.length ?? 0) === 0)
        writeNotes(context, options, ['No such orders.']);
      if (next !== null) writeNotes(context, options, [`There are more: --before ${next}`]);
      const report = {
        orders: shown.map(jsonFields),
        next_before: next,
        attention: rows?.map(jsonFields),
      };
      const header = ['ID', 'RECEIVED', 'SOURCE', 'ORDER', 'LINES', 'STATES'];
      const columns = columnsOf(context);
      const tables = [
        renderTable(header, shown.map(row), columns),
        attentionTable(rows ?? [], columns),
      ];
      writeAnswer(context, options, report, tables.filter((table) => table !== '').join('\n'));
    }),
  );
}

/**
 * The rows of the attention list, also those that belong to no order; null on a later page, and
 * where states or a text are asked for.
 */
function attentionRows(reader: OutboxReader, options: ListOptions): readonly Attention[] | null {
  const { attention, state, source, search, before, limit } = options;
  if (attention !== true || [state, search, before].some((it) => it !== undefined)) return null;
  return reader.attention(limit, { source });
}

function row(order: OrderSummary): string[] {
  const { id, receivedAt, source, orderId, lines } = order;
  return [
    String(id),
    shortTime(receivedAt),
    source,
    orderId,
    String(lines),
    stateCounts(order).join(', '),
  ];
}

interface AckOptions extends BulkForm {
  readonly code?: string;
  readonly source?: string;
  readonly olderThan?: number;
}

type Reasoned = AckOptions & { readonly reason: string };
type Which = Pick<AttentionFilter, 'ids' | 'code' | 'source' | 'beforeMs'>;

/** How many rows the preview shows; the count of all is not limited. */
const shownRows = 20;

function addAck(orders: Command, context: CliContext): void {
  const command = orders
    .command('ack')
    .description('remove rows that need no decision any more from the attention list')
    .addArgument(
      new Argument(
        '[id...]',
        'references, or other ids of the attention list (required unless a filter is given)',
      ),
    )
    .option('--code <code>', 'instead of ids: every row with this code')
    .option('--source <source>', 'instead of ids: every row of this shop')
    .option(
      '--older-than <age>',
      'instead of ids: every row older than this, for example 7d, 12h or 30min',
      durationMs,
    );
  addBulk(command).action(async (ids: string[], options: AckOptions) => {
    const { code, source, olderThan } = options;
    const isFiltered = code !== undefined || source !== undefined || olderThan !== undefined;
    const reason = reasonToAct(options, !isFiltered);
    const isLook = !isFiltered && reason === null;
    if (ids.length > 0 === isFiltered || ids.length > acknowledgedAtOnce || isLook) {
      throw new OrderSyncError(
        'USAGE',
        `Name what to acknowledge: at most ${acknowledgedAtOnce} ids, or a filter`,
        {
          hint: '`order-sync queue status` shows the ids; the filters are --code, --source and --older-than',
        },
      );
    }
    if (reason !== null && !isFiltered)
      return await acknowledgeNamed(ids, { ...options, reason }, context);
    // Nobody has seen the rows that come in from now on.
    const which = { code, source, beforeMs: context.clock.wallMs() - (olderThan ?? 0) };
    if (reason === null) await preview(which, options, context);
    else await acknowledgeFound(which, { ...options, reason }, context);
  });
}

async function acknowledgeNamed(
  ids: readonly string[],
  options: Reasoned,
  context: CliContext,
): Promise<void> {
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

async function acknowledgeFound(
  which: Which,
  options: Reasoned,
  context: CliContext,
): Promise<void> {
  const all: string[] = [];
  for (let isMore = true; isMore; ) {
    const { acknowledged } = await acknowledge(which, options, context);
    all.push(...acknowledged);
    isMore = acknowledged.length === acknowledgedAtOnce;
  }
  writeAnswer(
    context,
    options,
    { acknowledged: all, refused: [] },
    `${all.length} are acknowledged\n`,
  );
}

async function preview(which: Which, options: AckOptions, context: CliContext): Promise<void> {
  const { counts, rows, left } = await withReader(options, (reader) => ({
    counts: reader.attentionCounts({ ...which, canAcknowledge: true }),
    rows: reader.attention(shownRows, { ...which, canAcknowledge: true }),
    left: totalOf(reader.attentionCounts({ ...which, canAcknowledge: false })),
  }));
  const count = totalOf(counts);
  const json = {
    would_acknowledge: count,
    counts,
    first: rows.map(jsonFields),
    need_decision: left,
  };
  const head = [
    `${count}${count === 0 ? '' : ` (${countsText(counts)})`} would be acknowledged; do it with --yes\n`,
    left === 0 ? '' : `${left} other rows need a decision and stay\n`,
    count > rows.length ? `The first ${rows.length} of them:\n` : '',
  ].join('');
  const text = [head, attentionTable(rows, columnsOf(context))].filter(Boolean).join('\n');
  writeAnswer(context, options, json, text);
}

async function acknowledge(which: Which, options: Reasoned, context: CliContext) {
  const { config } = await configFrom(options);
  const command = {
    action: 'acknowledge',
    which,
    actor: cliActor(),
    reason: options.reason,
  } as const;
  return await sendCommand(config, command, 'acknowledged', context);
}
