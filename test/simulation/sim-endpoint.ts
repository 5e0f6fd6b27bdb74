import type { OutgoingRequest } from '../../src/ops/outgoing-http.ts';
import type { ResultDocument } from '../../src/core/result/result-document.ts';
import type { CallbackSettings } from '../../src/results/settings.ts';
import type { Reply } from '../support/shops/shop-order.ts';
import { drawReceiverFault, type ReceiverFault } from './receiver-faults.ts';
import { ReceiverProgress } from './receiver-progress.ts';
import { RetryAfterWatch } from './retry-after-watch.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { SimProcess } from './sim-process.ts';
import type { Receiver } from './sim-receivers.ts';
import { type EndpointPlan, receiverDeadlineMs } from './sinks-plan.ts';
import type { VirtualTime } from './virtual-time.ts';
import type { Invariant } from './invariants.ts';

export const endpointSecret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

/** A post, as its receiver reads it. */
interface Post {
  readonly id: string;
  /** `result`: the result itself. */
  readonly type: string;
  readonly order: string;
  readonly changedMs: number;
  /** What it says, without the times. */
  readonly content: string;
}

const nameOf = (document: Pick<ResultDocument, 'source' | 'order_id'>): string =>
  `${document.source}/${document.order_id}`;

/** What a result says, without the time of its last change. */
export const contentOf = (data: object): string => JSON.stringify({ ...data, updated_at: null });

function readPost({ headers, body }: OutgoingRequest): Post {
  const text = JSON.parse(body ?? '');
  const type: string = text.type ?? 'result';
  const data = type === 'result' ? text : text.data;
  const changedMs = Date.parse(type === 'result' ? data.updated_at : text.timestamp);
  return {
    id: headers['webhook-id'] ?? '',
    type,
    order: nameOf(data),
    changedMs,
    content: contentOf(data),
  };
}

/** An endpoint that gets results or events over HTTP. */
export class SimEndpoint implements Receiver {
  readonly kind = 'callback';
  readonly plan: EndpointPlan;
  readonly progress: ReceiverProgress;
  readonly #time: VirtualTime;
  readonly #random: SeededRandom;
  readonly #faultsOffMs: number;
  readonly #violate: (invariant: Invariant, sentence: string) => void;
  readonly #retryAfter: RetryAfterWatch;
  readonly #contents = new Map<string, string>();
  readonly #newestMs = new Map<string, number>();
  /** The last post of each kind that was confirmed, by order; of reviews the last of each line. */
  readonly #confirmed = new Map<string, string>();
  /** Whether the wall clock is never set, so that times tell what is newer. */
  readonly #tellsOrder: boolean;
  /** Whether everything that the worker was told is recorded, as long as it does not die. */
  readonly #recordsAll: boolean;
  /** Who was told that a post was taken, by its id. */
  readonly #told = new Map<string, SimProcess>();

  constructor(options: {
    plan: EndpointPlan;
    time: VirtualTime;
    random: SeededRandom;
    faultsOffMs: number;
    tellsOrder: boolean;
    recordsAll: boolean;
    violate: (invariant: Invariant, sentence: string) => void;
  }) {
    const { plan, time } = options;
    this.plan = plan;
    this.#time = time;
    this.#random = options.random;
    this.#faultsOffMs = options.faultsOffMs;
    this.#violate = options.violate;
    this.#tellsOrder = options.tellsOrder;
    this.#recordsAll = options.recordsAll;
    this.progress = new ReceiverProgress(() => time.nowMs);
    const violate = (sentence: string): void => options.violate('I45', sentence);
    this.#retryAfter = new RetryAfterWatch(`the endpoint ${plan.name}`, () => time.nowMs, violate);
  }

  get origin(): string {
    return `https://${this.plan.name}.example`;
  }

  get settings(): CallbackSettings {
    const { name, events } = this.plan;
    const url = `${this.origin}/results?to=us`;
    return {
      name,
      url,
      secrets: [endpointSecret],
      sources: null,
      events: events === null ? null : [...events],
      connectMs: 2000,
      totalMs: receiverDeadlineMs,
    };
  }

  /** The outbox is another one: it counts its versions anew. */
  forget(): void {
    this.#contents.clear();
    this.#newestMs.clear();
    this.#told.clear();
  }

  leaves(call: OutgoingRequest, process: SimProcess): ReceiverFault {
    const post = readPost(call);
    this.#retryAfter.leaves(process, post.order);
    this.#checkPost(post);
    if (this.#recordsAll && this.#told.get(post.id) === process)
      this.#violate(
        'I43',
        `${this.plan.name} gets ${post.type} of ${post.order} once more, although it has confirmed it`,
      );
    const { nowMs } = this.#time;
    const { troubles } = this.plan;
    const fault = drawReceiverFault(this.#random, troubles, {
      nowMs,
      areFaultsOff: nowMs >= this.#faultsOffMs,
    });
    if (fault.kind !== 'none' || !troubles.refusedOrders.has(post.order)) return fault;
    return { kind: 'refuse', reply: { status: 400, body: {} } };
  }

  #checkPost({ id, type, order, changedMs, content }: Post): void {
    const { name } = this.plan;
    const before = this.#contents.get(id);
    if (before !== undefined && before !== content)
      this.#violate(
        'I43',
        `${name} gets ${type} of ${order} as ${id} once more with other content`,
      );
    this.#contents.set(id, content);
    const newestMs = this.#newestMs.get(order) ?? 0;
    if (this.#tellsOrder && changedMs < newestMs)
      this.#violate(
        'I43',
        `${name} gets ${type} of ${order} that is ${newestMs - changedMs} ms older than the last one`,
      );
    this.#newestMs.set(order, Math.max(newestMs, changedMs));
  }

  process(): Reply {
    return { status: 204, body: '' };
  }

  answered(call: OutgoingRequest, process: SimProcess, reply: Reply | null): void {
    const { id, order, type, content } = readPost(call);
    const isConfirmed = reply !== null && reply.status < 300;
    this.#retryAfter.answered(process, order, reply);
    this.progress.answered(order, isConfirmed);
    if (!isConfirmed) return;
    this.#told.set(id, process);
    const line = type === 'line.needs_review' ? JSON.parse(content).line.line_id : '';
    this.#confirmed.set(JSON.stringify([order, type, line]), content);
  }

  /** Whether the endpoint has confirmed what this result says now; returns what is missing. */
  missing(document: ResultDocument): readonly string[] {
    const { events } = this.plan;
    const order = nameOf(document);
    const has = (type: string, line = ''): string | undefined =>
      this.#confirmed.get(JSON.stringify([order, type, line]));
    const content = contentOf(document);
    const isSettled = document.state !== 'in_progress' && document.state !== 'needs_review';
    const wholes =
      events === null
        ? ['result']
        : events.filter(
            (type) => type === 'order.updated' || (type === 'order.settled' && isSettled),
          );
    const reviews = document.lines.filter(({ state }) => state === 'needs_review');
    return [
      ...wholes.filter((type) => has(type) !== content),
      ...(events?.includes('line.needs_review') === true ? reviews : [])
        .filter(({ line_id: lineId }) => has('line.needs_review', lineId ?? '') === undefined)
        .map(({ line_id: lineId }) => `line.needs_review of ${lineId}`),
    ];
  }
}
