import { shortTime } from '../core/clock.ts';
import type { Attention, AttentionCounts } from '../store/read/attention.ts';
import { renderTable } from './table.ts';

/** Rows of the attention list as text, with what to do about each kind; nothing when there are none. */
export function attentionTable(rows: readonly Attention[], columns: number | null): string {
  if (rows.length === 0) return '';
  const header = ['ATTENTION', 'ID', 'SINCE', 'CONCERNS', 'WHAT HAPPENED'];
  const actions = new Map(rows.map(({ kind, whatToDo }) => [`${kind} ${whatToDo}`, [kind, whatToDo]]));
  const whatToDo = renderTable(['WHAT TO DO', ''], [...actions.values()], columns);
  return `${renderTable(header, rows.map(attentionRow), columns)}\n${whatToDo}`;
}

function attentionRow({ kind, id, since, scope, source, orderId, lineId, code, message }: Attention): string[] {
  const concerns = [source, orderId, lineId].filter((it) => it !== null).join('/');
  const happened = [code, message].filter((it) => it !== null && it !== '').join(': ');
  return [kind, id, shortTime(since), scope ?? concerns, happened];
}

/** `3 need attention: 2 rejected, 1 pause`; nothing when there are none. */
export function attentionTotal(counts: AttentionCounts): string {
  const kinds = Object.entries(counts);
  const total = kinds.reduce((sum, [, count]) => sum + count, 0);
  if (total === 0) return '';
  return `${total} need attention: ${kinds.map(([kind, count]) => `${count} ${kind}`).join(', ')}\n`;
}
