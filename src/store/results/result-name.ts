import { resultFileName } from '../../core/result/result-document.ts';
import { statementOf, type Sqlite } from '../sqlite/database.ts';

/** An order as its result is named by it. */
export interface NamedRequest {
  readonly id: number;
  readonly source: string;
  readonly orderId: string;
}

// Of two ids that differ in capital letters only, at least one has some: the index has only those.
const selectSharing = statementOf<NamedRequest, unknown>(
  `SELECT 1 FROM requests WHERE source = lower(:source) AND order_id = lower(:orderId) AND id < :id
   UNION ALL
   SELECT 1 FROM requests WHERE lower(source) = lower(:source) AND lower(order_id) = lower(:orderId)
     AND (source GLOB '*[A-Z]*' OR order_id GLOB '*[A-Z]*') AND id < :id
   LIMIT 1`,
);

/** Whether an earlier order has the same source and id but for capital letters: see `resultFileName`. */
export function sharesResultName(database: Sqlite, request: NamedRequest): boolean {
  return selectSharing(database).get(request) !== undefined;
}

/** The file of a result, in the folder of the results. */
export function resultFileOf(database: Sqlite, request: NamedRequest): string {
  const { source, orderId } = request;
  return `${source}/${resultFileName({ source, order_id: orderId }, sharesResultName(database, request))}`;
}
