import { setImmediate as nextTurn } from 'node:timers/promises';
import { stringify } from 'csv-stringify/sync';
import type { OrderFilter, OrderSummary } from '../../store/read/list-orders.ts';
import type { OutboxReader } from '../../store/read/outbox-reader.ts';
import { stateCounts } from './orders-page.ts';

/** So many orders are read at once: others wait meanwhile. */
const readAtOnce = 200;
const mostExported = 50_000;

const columns = ['id', 'source', 'order_id', 'lines', 'entries', 'received_at', 'updated_at'];

interface Exported {
  readonly orders: readonly OrderSummary[];
  /** Where another export continues; null: there are no more orders. */
  readonly nextBefore: number | null;
}

/** The orders of a filter in pieces, at most `mostExported`. Between two pieces the worker does what else is due. */
async function* pieces(read: OutboxReader, filter: Omit<OrderFilter, 'limit'>): AsyncGenerator<Exported> {
  let beforeId = filter.beforeId;
  for (let count = 0; count < mostExported; count += readAtOnce) {
    const orders = read.listOrders({ ...filter, ...(beforeId === undefined ? {} : { beforeId }), limit: readAtOnce });
    beforeId = orders.length < readAtOnce ? undefined : orders.at(-1)?.id;
    yield { orders, nextBefore: beforeId ?? null };
    if (beforeId === undefined) return;
    await nextTurn();
  }
}

/**
 * CSV as spreadsheets read it: a text that begins like a formula is marked as text. After the last order of a list that has
 * more comes a row that says where it continues.
 */
export async function* ordersAsCsv(read: OutboxReader, filter: Omit<OrderFilter, 'limit'>): AsyncGenerator<string> {
  let next: number | null = null;
  yield stringify([columns]);
  for await (const { orders, nextBefore } of pieces(read, filter)) {
    next = nextBefore;
    const rows = orders.map((order) => {
      const { id, source, orderId, lines, receivedAt, updatedAt } = order;
      return [id, source, orderId, lines, stateCounts(order), receivedAt, updatedAt];
    });
    yield stringify(rows, { escape_formulas: true });
  }
  if (next !== null) yield stringify([['', '', `there are more: before=${next}`, '', '', '', '']]);
}

/** One JSON object: `orders`, and `next_before`, where another export continues. */
export async function* ordersAsJson(read: OutboxReader, filter: Omit<OrderFilter, 'limit'>): AsyncGenerator<string> {
  let next: number | null = null;
  let first = '{"orders":[\n';
  for await (const { orders, nextBefore } of pieces(read, filter)) {
    next = nextBefore;
    const rows = orders.map(({ orderId, rejectedLines, receivedAt, updatedAt, ...order }) => {
      const named = {
        order_id: orderId,
        rejected_lines: rejectedLines,
        received_at: receivedAt,
        updated_at: updatedAt,
      };
      return JSON.stringify({ ...order, ...named });
    });
    if (rows.length === 0) continue;
    yield first + rows.join(',\n');
    first = ',\n';
  }
  yield `${first === ',\n' ? '' : first}\n],"next_before":${next}}\n`;
}
