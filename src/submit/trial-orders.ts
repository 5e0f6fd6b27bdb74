import { familyOf, type Family, type Operation } from '../core/order/operation.ts';
import { operationsOf, pauseScopeFrom } from '../core/decision/pause-scope.ts';
import { malformedRequestRows } from '../core/decision/consecutive-rejections.ts';
import type { Store } from '../store/store.ts';
import type { OpenAttempt, Pause } from '../store/submission/submission.ts';
import type { Pauses } from './pauses.ts';

/**
 * Families that stood still because of how their orders are written, and whose next order tells whether that is over:
 * one is sent at a time until one is understood. Kept in memory: a restart in the middle of one tries a few at once.
 */
export class TrialOrders {
  readonly #store: Store;
  readonly #pauses: Pauses;
  /** The order that is being tried; null while none is. */
  readonly #underWay = new Map<Family, number | null>();

  constructor(deps: { store: Store; pauses: Pauses }) {
    this.#store = deps.store;
    this.#pauses = deps.pauses;
  }

  /** A pause of the worker is about to end. */
  begin(pause: Pause): void {
    const scope = pauseScopeFrom(pause.scope);
    if (scope?.kind === 'family') this.#underWay.set(scope.family, null);
  }

  /** Of these nothing more is sent while one is being tried. */
  get operations(): readonly Operation[] {
    return [...this.#underWay].flatMap(([family, attemptId]) => (attemptId === null ? [] : operationsOf(family)));
  }

  opened(attempt: OpenAttempt): void {
    const family = familyOf(attempt.entry.operation);
    if (attempt.purpose === 'submit' && this.#underWay.has(family)) this.#underWay.set(family, attempt.attemptId);
  }

  /** The call is over, and what it brought is on disk. */
  async closed(attempt: OpenAttempt): Promise<void> {
    const family = familyOf(attempt.entry.operation);
    if (this.#underWay.get(family) !== attempt.attemptId) return;
    const [newest] = await this.#store.submission.recentVerdicts(family);
    const isStopped = this.#pauses.all.some((pause) => pause.scope === `family:${family}`);
    const isUnderstood = newest !== undefined && !malformedRequestRows.has(newest.row);
    if (isStopped || isUnderstood) this.#underWay.delete(family);
    // A shut door or a broken line told nothing: the next one is the trial.
    else this.#underWay.set(family, null);
  }
}
