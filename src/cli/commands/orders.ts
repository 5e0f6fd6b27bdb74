import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import { entryStates, type EntryState } from '../../core/entry/states.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import type { OrderSummary } from '../../store/read/outbox-reader.ts';
import { addConfigOptions, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { orderAsJson, orderAsText } from './orders-show.ts';
import { renderTable, shortTime } from '../output.ts';
import { withReader } from '../with-reader.ts';
import { addOrderActions } from './orders-decide.ts';

interface ListOptions extends ConfigOptions {
  readonly state?: EntryState;
  readonly source?: string;
  readonly search?: string;
  readonly attention?: boolean;
  readonly limit: number;
  readonly before?: number;
  readonly json?: boolean;
}

export function addOrders(program: Command, context: CliContext): void {
  const orders = program
    .command('orders')
    .description('review the orders, and decide on them; works beside a running worker');
  addList(orders, context);
  addShow(orders, context);
  addOrderActions(orders, context);
}

function addList(orders: Command, context: CliContext): void {
  const list = orders
    .command('list')
    .description('list orders, newest first')
    .addOption(new Option('--state <state>', 'with an entry in this state').choices(entryStates))
    .option('--source <source>', 'of this shop')
    .option('--search <text>', 'with this order id, reference, order number or ICCID')
    .option('--attention', 'only those that stand in front of a person')
    .option('--limit <n>', 'at most this many', wholeNumber(1, 1000), 50)
    .option('--before <id>', 'continue after the order of this id', wholeNumber(1, Number.MAX_SAFE_INTEGER))
    .option('--json', 'print JSON');
  addConfigOptions(list).action((options: ListOptions) =>
    withReader(options, (reader) => {
      const { state, source, search, attention, limit, before } = options;
      const found = reader.listOrders({
        limit: limit + 1,
        ...(state === undefined ? {} : { state }),
        ...(source === undefined ? {} : { source }),
        ...(search === undefined ? {} : { search }),
        ...(attention === undefined ? {} : { attention }),
        ...(before === undefined ? {} : { beforeId: before }),
      });
      const shown = found.slice(0, limit);
      const next = found.length > limit ? (shown.at(-1)?.id ?? null) : null;
      if (options.json) {
        const report = { orders: shown.map(summaryAsJson), next_before: next };
        context.stdout.write(`${JSON.stringify(report)}\n`);
        return;
      }
      if (shown.length === 0) context.stderr.write('No such orders.\n');
      else context.stdout.write(renderTable(['ID', 'RECEIVED', 'SOURCE', 'ORDER', 'LINES', 'STATES'], shown.map(row)));
      if (next !== null) context.stderr.write(`There are more: --before ${next}\n`);
    }),
  );
}

function addShow(orders: Command, context: CliContext): void {
  const show = orders
    .command('show')
    .description('show one order: what was asked, every attempt, and what may be done')
    .addArgument(new Argument('<order>', 'an order id or a reference'))
    .option('--source <source>', 'the shop, when several have an order of that id')
    .option('--json', 'print JSON');
  addConfigOptions(show).action((order: string, options: ConfigOptions & { source?: string; json?: boolean }) =>
    withReader(options, (reader) => {
      const detail = reader.showEntry(order) ?? reader.showOrder(options.source ?? null, order);
      if (detail === null) {
        throw new OrderSyncError('NOT_FOUND', `No order or reference "${order}" is in the outbox`, {
          hint: 'look for it with `order-sync orders list --search`; a line that was not accepted is in `order-sync queue status`',
        });
      }
      context.stdout.write(options.json ? `${JSON.stringify(orderAsJson(detail))}\n` : orderAsText(detail));
    }),
  );
}

function row(order: OrderSummary): string[] {
  const states = entryStates.flatMap((state) => {
    const entries = order.states[state] ?? 0;
    return entries === 0 ? [] : [`${entries} ${state}`];
  });
  if (order.rejectedLines > 0) states.push(`${order.rejectedLines} not accepted`);
  const { id, receivedAt, source, orderId, lines } = order;
  return [String(id), shortTime(receivedAt), source, orderId, String(lines), states.join(', ')];
}

function summaryAsJson(order: OrderSummary): Record<string, unknown> {
  return {
    id: order.id,
    source: order.source,
    order_id: order.orderId,
    lines: order.lines,
    states: order.states,
    rejected_lines: order.rejectedLines,
    received_at: order.receivedAt,
    updated_at: order.updatedAt,
  };
}

function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max) {
      throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
    }
    return value;
  };
}
