import type { ResultDocument } from '../../core/result/result-document.ts';
import type { AcceptedOrder, OrderConflict } from '../../store/intake/intake.ts';
import type { OutboxReader } from '../../store/read/outbox-reader.ts';
import { Refusal } from './problem.ts';

/** Where an order is read and taken back. */
export function orderAddress(source: string, orderId: string): string {
  return `/v1/orders/${encodeURIComponent(source)}/${encodeURIComponent(orderId)}`;
}

/** One order in an acknowledgement: it is on disk under these references. */
export interface Acknowledgement {
  readonly source: string;
  readonly order_id: string;
  /** `known`: it was accepted before, with the same content. */
  readonly status: 'accepted' | 'known';
  readonly state: ResultDocument['state'];
  readonly lines: readonly { readonly line_id: string; readonly reference: string }[];
  readonly url: string;
}

export function acknowledgementOf(order: AcceptedOrder, read: OutboxReader): Acknowledgement {
  return {
    source: order.source,
    order_id: order.orderId,
    status: order.status,
    state: order.status === 'accepted' ? 'in_progress' : read.resultDocument(order.requestId).document.state,
    lines: order.lines.map(({ lineId, reference }) => ({ line_id: lineId, reference })),
    url: orderAddress(order.source, order.orderId),
  };
}

export function conflictRefusal(conflicts: readonly OrderConflict[]): Refusal {
  const names = conflicts.slice(0, 3).map(({ source, orderId }) => `${source}/${orderId}`);
  const more = conflicts.length > names.length ? ` and ${conflicts.length - names.length} more` : '';
  const detail = `${names.join(', ')}${more} was accepted before with other content, which stands. Nothing of this request was accepted.`;
  return new Refusal('conflict', detail, {
    extensions: {
      conflicts: conflicts.map(({ source, orderId, lines }) => ({
        source,
        order_id: orderId,
        url: orderAddress(source, orderId),
        lines: lines.map(({ lineId, reference, differences }) => ({ line_id: lineId, reference, differences })),
      })),
    },
  });
}
