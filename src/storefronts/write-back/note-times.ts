import type { Clock } from '../../core/clock.ts';

/** Of one that was forgotten, the wait begins anew. */
const mostNotes = 10_000;

/**
 * For how long this process knows of a note that may have been posted, and that its order does not show. By the clock of the
 * process: the time of an announcement, which an earlier process wrote, would be wrong after the clock of the machine was set.
 */
export class NoteTimes {
  readonly #clock: Clock;
  readonly #sinceMono = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Its post begins now. */
  posted(orderId: string, marker: string): void {
    const key = `${orderId} ${marker}`;
    this.#sinceMono.delete(key);
    this.#remember(key);
  }

  /** In ms; 0 when nothing was known of it until now. */
  knownForMs(orderId: string, marker: string): number {
    const key = `${orderId} ${marker}`;
    const sinceMono = this.#sinceMono.get(key);
    if (sinceMono !== undefined) return this.#clock.monoMs() - sinceMono;
    this.#remember(key);
    return 0;
  }

  #remember(key: string): void {
    const [oldest] = this.#sinceMono.keys();
    if (this.#sinceMono.size >= mostNotes && oldest !== undefined) this.#sinceMono.delete(oldest);
    this.#sinceMono.set(key, this.#clock.monoMs());
  }
}
