import { familyOf, type Family, type Operation } from '../core/order/operation.ts';
import { operationsOf, pauseScopeFrom } from '../core/decision/pause-scope.ts';
import { malformedRequestRows } from '../core/decision/consecutive-rejections.ts';
import type { Store } from '../store/store.ts';
import type { OpenAttempt, Pause } from '../store/submission/submission.ts';
import type { Pauses } from './pauses.ts';

/**
 * Trial orders. After a family was paused for consecutive rejections, one order is sent at a time until one is accepted.
 * Kept in memory: after a restart during a trial, several orders are sent at once.
 */
export class TrialOrders {
  readonly #store: Store;
  readonly #pauses: Pauses;
  /** The attempt of the trial order in flight; null while there is none. */
  readonly #trials = new Map<Family, number | null>();

  constructor(deps: { store: Store; pauses: Pauses }) {
    this.#store = deps.store;
    this.#pauses = deps.pauses;
  }

  /** A pause of the worker is about to end: if it is one of a family, its next order is a trial. */
  begin(pause: Pause): void {
    const scope = pauseScopeFrom(pause.scope);
    if (scope?.kind === 'family') this.#trials.set(scope.family, null);
  }

  /** Operations that wait while their trial order is in flight. */
  get blockedOperations(): readonly Operation[] {
    return [...this.#trials].flatMap(([family, attemptId]) => (attemptId === null ? [] : operationsOf(family)));
  }

  opened(attempt: OpenAttempt): void {
    const family = familyOf(attempt.entry.operation);
    if (attempt.purpose === 'submit' && this.#trials.has(family)) this.#trials.set(family, attempt.attemptId);
  }

  /** The call is over, and its outcome is on disk. */
  async closed(attempt: OpenAttempt): Promise<void> {
    const family = familyOf(attempt.entry.operation);
    if (this.#trials.get(family) !== attempt.attemptId) return;
    const [newest] = await this.#store.submission.recentVerdicts(family);
    const isPaused = this.#pauses.all.some((pause) => pause.scope === `family:${family}`);
    const isAccepted = newest !== undefined && !malformedRequestRows.has(newest.row);
    if (isPaused || isAccepted) this.#trials.delete(family);
    // The API did not judge the order: the next one is the trial.
    else this.#trials.set(family, null);
  }
}
