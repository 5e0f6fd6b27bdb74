import { quoted } from '../../core/message-text.ts';
import { referenceFor } from '../../core/order/reference.ts';
import { columnOf, statementOf } from '../sqlite/database.ts';
import type { Outbox } from '../sqlite/outbox.ts';
import { flagShop } from './order-records.ts';
import type { OrderKey, StorefrontOrder } from './storefront-order.ts';

// A held line was not bought, and a sandbox's trial says nothing about real orders.
const selectShown = statementOf<
  { result: string | null; sandbox: number },
  Record<'lineId' | 'reference', string> & { isKnown: number }
>(
  `SELECT value AS reference, json_extract(r, replace(path, 'references', 'line_id')) AS lineId,
     EXISTS (SELECT 1 FROM entries WHERE reference = value) AS isKnown
   FROM (SELECT iif(json_valid(:result), :result, '{}') AS r), json_tree(r)
   WHERE path LIKE '$.lines[%].references' AND type = 'text' AND json_extract(r, '$.sandbox') <= :sandbox
     AND json_extract(r, replace(path, 'references', 'state')) NOT IN ('held', 'pending')`,
);
const keep = statementOf<OrderKey & { result: string | null }, never>(
  'UPDATE storefront_orders SET other_result = :result WHERE source = :source AND order_id = :orderId',
);
const isFlagged = columnOf<[string], number>('SELECT 1 FROM other_workers WHERE source = ?');

/**
 * Flags the shop if another worker wrote the result in the order. Returns whether it did, and
 * nobody has acknowledged that.
 */
export function noteResult(
  outbox: Outbox,
  {
    source,
    orderId,
    result = null,
    nowMs,
  }: Pick<StorefrontOrder, 'source' | 'orderId' | 'result' | 'nowMs'>,
): boolean {
  const { database, namespace, sandbox } = outbox;
  const shown = selectShown(database).all({ result, sandbox: Number(sandbox) });
  const [first] = shown;
  // Else a lost outbox may have written it: the secret makes its references again. The first part
  // of a line always remains.
  const isOurs = shown.some(
    ({ lineId, reference, isKnown }) =>
      isKnown === 1 ||
      [0, 1, 2, 3, 4, 5].some(
        (generation) =>
          referenceFor(namespace, { source, orderId, lineId, generation, part: 0 }) === reference,
      ),
  );
  if (first === undefined || isOurs) return false;
  keep(database).run({ source, orderId, result });
  const rule = `the order ${orderId} of the shop has a result of another worker, with the reference ${quoted(first.reference)}`;
  flagShop(outbox, { source, code: 'other_worker', rule, nowMs, reopens: false });
  return isFlagged(database).get(source) === 1;
}
