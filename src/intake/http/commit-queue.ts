import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Clock } from '../../core/clock.ts';
import type { Intake } from '../../store/intake/intake.ts';
import type { RequestOutcome, WholeRequest } from '../../store/intake/accept-request.ts';
import { isOutboxBlocked } from '../../ops/disk-guard.ts';
import { HttpProblem } from './problem.ts';

interface Waiting {
  readonly request: WholeRequest;
  readonly places: number;
  readonly resolve: (outcome: RequestOutcome) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * A commit blocks the process while the disk writes, so one commit takes at most this many lines.
 */
const linesPerCommit = 5000;

/** Waiting lines take memory: so many count as one request. */
const linesPerPlace = 5;

/**
 * Requests that arrive together, or during a commit, share the next one. No outcome is known before
 * it is on disk.
 */
export class CommitQueue {
  readonly #intake: Intake;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #limit: number;
  readonly #failure = Promise.withResolvers<never>();
  #waiting: Waiting[] = [];
  #uncommitted = 0;
  #draining: Promise<void> | null = null;
  #failed = false;

  /** @param limit requests that may wait for the disk at the same time */
  constructor(intake: Intake, clock: Clock, logger: Logger, limit: number) {
    this.#intake = intake;
    this.#clock = clock;
    this.#logger = logger;
    this.#limit = limit;
    this.#failure.promise.catch(() => undefined);
  }

  /**
   * Rejects when a commit failed: from then on nothing is accepted, because it could not be
   * recorded.
   */
  get failed(): Promise<never> {
    return this.#failure.promise;
  }

  get fill(): number {
    return this.#uncommitted / this.#limit;
  }

  /** Throws HttpProblem when too many wait: before a body is parsed, which takes most of the memory. */
  requirePlace(): void {
    if (this.#uncommitted < this.#limit) return;
    const detail = 'Too many order lines wait for the disk; nothing of this request was accepted.';
    throw new HttpProblem('overloaded', detail, { headers: { 'retry-after': '1' } });
  }

  /**
   * Resolves when the request is on disk, or conflicts with what is there. Throws HttpProblem when too
   * many wait.
   */
  async submit(lines: WholeRequest['lines']): Promise<RequestOutcome> {
    if (this.#failed) throw unavailable();
    const places = Math.ceil(lines.length / linesPerPlace);
    this.requirePlace();
    this.#uncommitted += places;
    const { promise, resolve, reject } = Promise.withResolvers<RequestOutcome>();
    const request = { nowMs: this.#clock.wallMs(), lines };
    this.#waiting.push({ request, places, resolve, reject });
    this.#draining ??= this.#drain();
    return await promise;
  }

  async idle(): Promise<void> {
    while (this.#draining !== null) await this.#draining;
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      // Requests that arrive in this turn of the event loop join the group.
      await nextTurn();
      const group = this.#takeGroup();
      try {
        const outcomes = await this.#intake.acceptRequests(group.map(({ request }) => request));
        for (const [index, { resolve, reject }] of group.entries()) {
          const outcome = outcomes[index];
          if (outcome === undefined)
            reject(new Error('the store returned no outcome for a request'));
          else resolve(outcome);
        }
        this.#log(outcomes);
      } catch (error) {
        // Nothing of the group was accepted; when there is space again, the next one is.
        if (isOutboxBlocked(error)) for (const { reject } of group) reject(error);
        else this.#fail(group, error);
      } finally {
        for (const { places } of group) this.#uncommitted -= places;
      }
    }
    this.#draining = null;
  }

  /**
   * One line for each commit: one for each request would double the cost of accepting thousands.
   */
  #log(outcomes: readonly RequestOutcome[]): void {
    const all = outcomes.flatMap((outcome) => (outcome.kind === 'accepted' ? outcome.orders : []));
    const orders = all.filter(({ status }) => status === 'accepted');
    const [first] = orders;
    if (first === undefined) return;
    const { source, orderId } = first;
    const lines = orders.reduce((sum, order) => sum + order.lines.length, 0);
    this.#logger.info(
      { source, order_id: orderId, orders: orders.length, lines },
      'orders accepted',
    );
  }

  #takeGroup(): readonly Waiting[] {
    let lines = 0;
    const end = this.#waiting.findIndex(({ request }, index) => {
      lines += request.lines.length;
      return index > 0 && lines > linesPerCommit;
    });
    return this.#waiting.splice(0, end < 0 ? this.#waiting.length : end);
  }

  #fail(group: readonly Waiting[], error: unknown): void {
    this.#failed = true;
    const others = this.#waiting;
    this.#waiting = [];
    for (const { places } of others) this.#uncommitted -= places;
    for (const { reject } of [...group, ...others]) reject(unavailable());
    this.#failure.reject(error);
  }
}

/** The refusal while the disk has no space for new orders. */
export function fullDisk(): HttpProblem {
  const detail =
    'The disk of the worker is full or nearly full. Send the request again later: nothing is bought twice.';
  return new HttpProblem('unavailable', detail, { headers: { 'retry-after': '30' } });
}

/** The refusal while the outbox cannot be written: the caller must keep its order. */
export function unavailable(): HttpProblem {
  const detail =
    'The worker cannot record orders at the moment. Send the request again later: nothing is bought twice.';
  return new HttpProblem('unavailable', detail, { headers: { 'retry-after': '30' } });
}
