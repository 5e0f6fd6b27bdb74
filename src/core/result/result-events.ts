import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { ResultDocument, ResultLine } from './result-document.ts';

/**
 * The events of a result. `order.updated`: anything in it changed. `order.settled`: nothing of the
 * order is open any more, or its settled result has changed. `line.needs_review`: a line came to
 * need review.
 */
export const resultEventTypes = ['order.updated', 'order.settled', 'line.needs_review'] as const;
export type ResultEventType = (typeof resultEventTypes)[number];

/** The body of a post, in the form of Standard Webhooks. */
interface ResultEventBody {
  readonly type: ResultEventType;
  readonly timestamp: string;
  readonly data: unknown;
}

interface ResultEvent {
  /** The same at each try of the same content, also after a restart. */
  readonly id: string;
  readonly body: ResultEventBody;
  /**
   * Kept before the post, or null: if the answer is lost, the endpoint may have it, and what it
   * confirmed before is not the last.
   */
  readonly announces: ConfirmedEvents | null;
  readonly confirms: ConfirmedEvents;
}

const confirmedSchema = z.object({
  /**
   * How often an operator had the results delivered again: confirmed events are posted again under new
   * ids.
   */
  replays: z.int().default(0),
  /**
   * The id of the last `order.updated` that was confirmed: another event of the same version may
   * have failed.
   */
  updated: z.string().optional(),
  /** The last settled result that was posted, how many there were, and whether it was confirmed. */
  settled: z
    .object({ count: z.int(), digest: z.string(), confirmed: z.boolean().default(true) })
    .optional(),
  /**
   * For each line that ever needed review, how often that was confirmed; negative: it does not need
   * review any more.
   */
  reviews: z.record(z.string(), z.int()).default({}),
});

export type ConfirmedEvents = Readonly<z.infer<typeof confirmedSchema>>;

/** Reads what was stored as text; null: nothing was confirmed yet. */
export function readConfirmed(text: string | null): ConfirmedEvents {
  return confirmedSchema.parse(text === null ? {} : JSON.parse(text));
}

/**
 * The events of a result that an endpoint wants and has not confirmed yet, in their order, and what
 * is confirmed after all of them.
 * @param version that of the result
 */
export function resultEvents(
  document: ResultDocument,
  version: number,
  endpoint: { readonly wants: readonly ResultEventType[]; readonly confirmed: ConfirmedEvents },
): { readonly events: readonly ResultEvent[]; readonly after: ConfirmedEvents } {
  const { wants, confirmed: before } = endpoint;
  const { source, order_id: orderId, updated_at: timestamp } = document;
  const events: ResultEvent[] = [];
  let confirmed = withoutEndedReviews(document, before);
  const idOf = (...subject: unknown[]): string =>
    digestOf([source, orderId, before.replays, ...subject]);
  const add = (
    type: ResultEventType,
    id: string,
    data: unknown,
    changes: Partial<ConfirmedEvents>,
    announces: ConfirmedEvents | null = null,
  ): void => {
    confirmed = { ...confirmed, ...changes };
    events.push({ id, body: { type, timestamp, data }, announces, confirms: confirmed });
  };
  const digest = digestOf({ ...document, updated_at: null });
  const updated = idOf('order.updated', version, digest);
  if (wants.includes('order.updated') && updated !== confirmed.updated) {
    add('order.updated', updated, document, { updated });
  }
  const inReview = document.lines.filter((line) => line.state === 'needs_review');
  for (const line of wants.includes('line.needs_review') ? inReview : []) {
    const key = lineKey(line);
    const count = confirmed.reviews[key] ?? 0;
    if (count > 0) continue;
    const next = 1 - count;
    const data = { source, order_id: orderId, line };
    const reviews = { ...confirmed.reviews, [key]: next };
    add('line.needs_review', idOf('line.needs_review', line.line_id, next, line), data, {
      reviews,
    });
  }
  const last = confirmed.settled;
  if (
    wants.includes('order.settled') &&
    isSettled(document) &&
    !(digest === last?.digest && last.confirmed)
  ) {
    const isPosted = digest === last?.digest;
    const settled = { count: (last?.count ?? 0) + (isPosted ? 0 : 1), digest };
    const announced = { ...confirmed, settled: { ...settled, confirmed: false } };
    const id = idOf('order.settled', settled.count, digest);
    add(
      'order.settled',
      id,
      document,
      { settled: { ...settled, confirmed: true } },
      isPosted ? null : announced,
    );
  }
  return { events, after: confirmed };
}

/** A line that left the review tells it again when it comes back. */
function withoutEndedReviews(document: ResultDocument, before: ConfirmedEvents): ConfirmedEvents {
  const inReview = new Set(
    document.lines.filter(({ state }) => state === 'needs_review').map(lineKey),
  );
  const reviews = Object.entries(before.reviews).map(([key, count]): [string, number] => [
    key,
    inReview.has(key) ? count : -Math.abs(count),
  ]);
  return { ...before, reviews: Object.fromEntries(reviews) };
}

const isSettled = ({ state }: ResultDocument): boolean =>
  state !== 'in_progress' && state !== 'needs_review';

/** Short, because it is kept for each line. A collision would leave out one event of an order. */
const lineKey = ({ line_id: lineId }: ResultLine): string => digestOf(lineId).slice(0, 12);

function digestOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 32);
}
