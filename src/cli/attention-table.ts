import type { Attention } from '../store/read/outbox-reader.ts';
import { renderTable, shortTime } from './output.ts';

/** The attention list as text; nothing when it is empty. */
export function attentionTable(rows: readonly Attention[]): string {
  return rows.length === 0 ? '' : renderTable(['ATTENTION', 'SINCE', 'CONCERNS', 'REASON'], rows.map(attentionRow));
}

function attentionRow(row: Attention): string[] {
  const concerns = [row.source, row.orderId, row.lineId].filter((it) => it !== null).join('/');
  const reason = [row.reason, row.message].filter((it) => it !== null && it !== '').join(': ');
  return [row.reference ?? row.kind, shortTime(row.since), row.scope ?? concerns, reason];
}
