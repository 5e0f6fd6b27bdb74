import type { Clock } from '../../core/clock.ts';
import type { Visitor } from '../sign-in/visitor.ts';

/** So long a visitor is told what was done, in ms: a page that refreshes itself must not take it away at once. */
const shownMs = 20_000;
/** So many visitors are told something, the last ones. */
const mostTold = 100;

/** What the next pages tell a visitor about the form that was submitted last. */
export class Notices {
  readonly #clock: Pick<Clock, 'monoMs'>;
  /** By session. */
  readonly #told = new Map<string, { readonly text: string; readonly untilMono: number }>();

  constructor(clock: Pick<Clock, 'monoMs'>) {
    this.#clock = clock;
  }

  tell({ csrf }: Visitor, text: string): void {
    if (csrf === null) return;
    this.#told.delete(csrf);
    this.#told.set(csrf, { text, untilMono: this.#clock.monoMs() + shownMs });
    for (const [oldest] of this.#told) {
      if (this.#told.size <= mostTold) break;
      this.#told.delete(oldest);
    }
  }

  /** Null: there is nothing to tell. */
  of({ csrf }: Visitor): string | null {
    const told = csrf === null ? undefined : this.#told.get(csrf);
    return told !== undefined && this.#clock.monoMs() < told.untilMono ? told.text : null;
  }
}
