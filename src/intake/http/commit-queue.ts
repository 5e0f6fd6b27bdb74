import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../core/clock.ts';
import type { RequestOutcome, WholeRequest } from '../../store/intake/intake.ts';
import type { Store } from '../../store/store.ts';
import { Refusal } from './problem.ts';

interface Waiting {
  readonly request: WholeRequest;
  readonly resolve: (outcome: RequestOutcome) => void;
  readonly reject: (reason: unknown) => void;
}

/** A commit blocks this process while the disk writes: more lines than this would make everybody wait for one. */
const linesPerCommit = 5000;

/**
 * Requests on their way to the disk. Those that arrive together, or while a commit is under way, share the next one:
 * one fsync for all of them. An outcome is only told after it is on disk.
 */
export class CommitQueue {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #limit: number;
  readonly #failure = Promise.withResolvers<never>();
  #waiting: Waiting[] = [];
  #uncommitted = 0;
  #draining: Promise<void> | null = null;
  #failed = false;

  constructor(store: Store, clock: Clock, limit: number) {
    this.#store = store;
    this.#clock = clock;
    this.#limit = limit;
    this.#failure.promise.catch(() => undefined);
  }

  /** Rejects when a commit failed: then nothing that is accepted can be trusted to be kept. */
  get failed(): Promise<never> {
    return this.#failure.promise;
  }

  /** How full the queue is, from 0 to 1. */
  get fill(): number {
    return this.#uncommitted / this.#limit;
  }

  /** Resolves when the request is on disk, or found to be in conflict with it. Throws the refusal when too many wait. */
  submit(lines: WholeRequest['lines']): Promise<RequestOutcome> {
    if (this.#failed) return Promise.reject(unavailable());
    if (this.#uncommitted >= this.#limit) {
      const detail = `${this.#limit} requests wait for the disk already; nothing of this one was accepted.`;
      return Promise.reject(new Refusal('overloaded', detail, { headers: { 'retry-after': '1' } }));
    }
    this.#uncommitted += 1;
    const { promise, resolve, reject } = Promise.withResolvers<RequestOutcome>();
    this.#waiting.push({ request: { nowMs: this.#clock.wallMs(), lines }, resolve, reject });
    this.#draining ??= this.#drain();
    return promise;
  }

  /** Resolves when nothing waits any more. */
  async idle(): Promise<void> {
    while (this.#draining !== null) await this.#draining;
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      // Whatever else arrives in this turn of the event loop comes along.
      await nextTurn();
      const batch = this.#takeBatch();
      try {
        const outcomes = await this.#store.intake.acceptRequests(batch.map(({ request }) => request));
        for (const [index, { resolve, reject }] of batch.entries()) {
          const outcome = outcomes[index];
          if (outcome === undefined) reject(new Error('the store told no outcome'));
          else resolve(outcome);
        }
      } catch (error) {
        this.#fail(batch, error);
      } finally {
        this.#uncommitted -= batch.length;
      }
    }
    this.#draining = null;
  }

  #takeBatch(): readonly Waiting[] {
    let lines = 0;
    const end = this.#waiting.findIndex(({ request }, index) => {
      lines += request.lines.length;
      return index > 0 && lines > linesPerCommit;
    });
    return this.#waiting.splice(0, end < 0 ? this.#waiting.length : end);
  }

  #fail(batch: readonly Waiting[], error: unknown): void {
    this.#failed = true;
    const left = this.#waiting;
    this.#waiting = [];
    this.#uncommitted -= left.length;
    for (const { reject } of [...batch, ...left]) reject(unavailable());
    this.#failure.reject(error);
  }
}

/** The refusal while nothing can be written: the caller keeps what it has. */
export function unavailable(): Refusal {
  const detail = 'Nothing can be recorded at the moment, so nothing is accepted.';
  return new Refusal('unavailable', detail, { headers: { 'retry-after': '30' } });
}
