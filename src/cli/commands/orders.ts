import { type Command, Option } from 'commander';
import { entryStates, type EntryState } from '../../core/entry/states.ts';
import { shortTime } from '../../core/clock.ts';
import type { Attention } from '../../store/read/attention.ts';
import { stateCounts, type OrderSummary } from '../../store/read/list-orders.ts';
import type { OutboxReader } from '../../store/read/outbox-reader.ts';
import { addAnswerOptions, withReader, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { jsonFields, writeAnswer, writeNotes } from '../output.ts';
import { wholeNumber } from '../option-values.ts';
import { attentionTable, columnsOf, renderTable } from '../table.ts';
import { addAck } from './orders-ack.ts';
import { addOrderDecisions } from './orders-decide.ts';
import { addShow } from './orders-show.ts';

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
    .addOption(new Option('--state <state>', 'with an entry in this state').choices(entryStates))
    .option('--source <source>', 'of this shop')
    .option(
      '--search <text>',
      'by what people know of it: an order id, a number, a SKU, an e-mail address, the end of a code',
    )
    .option('--attention', 'only those in the attention list, and its rows')
    .option('--limit <n>', 'at most this many', wholeNumber(1, 1000), 50)
    .option('--before <id>', 'continue after the order with this id', wholeNumber(1, Number.MAX_SAFE_INTEGER));
  addAnswerOptions(list).action((options: ListOptions) =>
    withReader(options, (reader) => {
      const { limit, before, state, source, search, attention } = options;
      const found = reader.listOrders({ limit: limit + 1, state, source, search, attention, beforeId: before });
      const shown = found.slice(0, limit);
      const next = found.length > limit ? (shown.at(-1)?.id ?? null) : null;
      if (shown.length === 0) writeNotes(context, options, ['No such orders.']);
      if (next !== null) writeNotes(context, options, [`There are more: --before ${next}`]);
      const rows = attentionRows(reader, options);
      const report = {
        orders: shown.map(jsonFields),
        next_before: next,
        ...(rows === null ? {} : { attention: rows.map(jsonFields) }),
      };
      const header = ['ID', 'RECEIVED', 'SOURCE', 'ORDER', 'LINES', 'STATES'];
      const columns = columnsOf(context);
      const tables = [renderTable(header, shown.map(row), columns), attentionTable(rows ?? [], columns)];
      writeAnswer(context, options, report, tables.filter((table) => table !== '').join('\n'));
    }),
  );
}

/** The rows of the attention list, also those that belong to no order; null on a later page, and where states or a text are asked for. */
function attentionRows(reader: OutboxReader, options: ListOptions): readonly Attention[] | null {
  const { attention, state, source, search, before, limit } = options;
  if (attention !== true || [state, search, before].some((it) => it !== undefined)) return null;
  return reader.attention(limit, { source });
}

function row(order: OrderSummary): string[] {
  const { id, receivedAt, source, orderId, lines } = order;
  return [String(id), shortTime(receivedAt), source, orderId, String(lines), stateCounts(order).join(', ')];
}
