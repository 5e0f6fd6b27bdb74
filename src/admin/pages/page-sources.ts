import type { LoadedConfig } from '../../config/config.ts';
import type { Clock } from '../../core/clock.ts';
import type { CallingCommand, CommandResult } from '../../core/operator/operator-command.ts';
import type { QueueExplanation } from '../../core/operator/queue-explanation.ts';
import type { OutboxReader } from '../../store/read/outbox-reader.ts';
import type { Attention } from '../../store/read/attention.ts';
import type { DeliveryDetail, EntryDetail, OrderDetail } from '../../store/read/order-detail.ts';
import type { PauseEffect } from '../../store/read/pause-effects.ts';
import type { Visitor } from '../sign-in/visitor.ts';
import type { Html } from '../html/document.ts';

type CatalogueQuestion = Omit<Extract<CallingCommand, { action: 'read_catalogue' }>, 'action'>;
/** The catalogue's facts about some products. */
export type CatalogueAnswer = Extract<CommandResult, { kind: 'catalogue' }>;

/** Where the pages get from what they show. */
export interface PageSources {
  readonly read: OutboxReader;
  /** Why nothing is sent now, and when it will be, as the worker's own budget gate says. */
  readonly explainQueue: () => QueueExplanation;
  /** How many calls the budget of all keys allows in a minute; null: that is not known. */
  readonly callsPerMinute: () => number | null;
  /** Looks up products on the budget of the worker. */
  readonly readCatalogue: (question: CatalogueQuestion) => Promise<CatalogueAnswer>;
  /** The values in use, with where they came from; null: they cannot be read. */
  readonly configInUse: () => Pick<LoadedConfig, 'values' | 'digests'> | null;
  readonly instance: string;
  readonly environment: 'sandbox' | 'production';
  readonly version: string;
  readonly clock: Pick<Clock, 'wallMs' | 'monoMs'>;
  readonly forms: ActionForms;
}

/** The context of a form. */
export interface FormContext {
  readonly visitor: Visitor;
  /** The page that the visitor returns to when it is done. */
  readonly returnTo: string;
}

/** Whether this visitor may decide anything: only then do the pages have forms. */
export const mayDecide = ({ visitor }: FormContext): boolean => visitor.role === 'operator' && visitor.csrf !== null;

/** Puts forms for what a person may decide into the pages. Null: there is nothing to decide. */
export interface ActionForms {
  /** For one entry of an order: `order` has the others. */
  entry(entry: EntryDetail, order: OrderDetail, context: FormContext): Html | null;
  /** For one row of the attention list. */
  attention(row: Attention, context: FormContext): Html | null;
  /** For the whole attention list, as it is filtered. */
  attentionList(filter: URLSearchParams, context: FormContext): Html | null;
  /** For the orders that a list shows, all pages of it. */
  orderList(filter: URLSearchParams, context: FormContext): Html | null;
  /** For a paused scope. */
  pause(pause: PauseEffect, context: FormContext): Html | null;
  /** For everything that is sent: to pause it. */
  queue(context: FormContext): Html | null;
  /** For one result and one sink. */
  delivery(
    delivery: DeliveryDetail,
    order: { readonly source: string; readonly orderId: string },
    context: FormContext,
  ): Html | null;
}

/** Pages that only show. */
export const noForms: ActionForms = {
  entry: () => null,
  attention: () => null,
  attentionList: () => null,
  orderList: () => null,
  pause: () => null,
  queue: () => null,
  delivery: () => null,
};
