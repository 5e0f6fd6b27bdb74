import type { Operation } from '../../core/order/purchase.ts';
import type { Sqlite } from '../../store/sqlite/database.ts';
import { readMeta, writeMeta } from '../../store/sqlite/meta.ts';

/** A call that buys or cancels, as far as it names its path. */
export interface SpendingCall {
  readonly path: string;
  readonly operation: Operation;
  readonly iccid: string | null;
}

const nameOf = (operation: Operation): string => `path_accepted:${operation}`;

/** The path without the eSIM that it may name: the same for every call of the operation. */
const templateOf = ({ path, iccid }: SpendingCall): string =>
  iccid === null ? path : path.replace(iccid, '{iccid}');

/**
 * Whether such a call was ever accepted under this path. Until then a 404 may say that the path is
 * wrong.
 */
export function wasAccepted(database: Sqlite, call: SpendingCall): boolean {
  return readMeta(database, nameOf(call.operation)) === templateOf(call);
}

/** Called inside a transaction: the API accepted such a call. */
export function recordAcceptedPath(database: Sqlite, call: SpendingCall): void {
  if (!wasAccepted(database, call)) writeMeta(database, nameOf(call.operation), templateOf(call));
}
