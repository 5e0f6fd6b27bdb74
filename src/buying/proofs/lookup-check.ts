import type { Logger } from 'pino';
import {
  familyOf,
  lookedUpAs,
  lookedUpKinds,
  type Family,
  type LookedUp,
  type Operation,
} from '../../core/order/purchase.ts';
import type { LookupProof, LookupProofs } from './lookup-proofs-sql.ts';
import { budgetedLookup, type CallDeps } from './budgeted-read.ts';
import { isoTime, type Clock } from '../../core/clock.ts';
import type { LookupOutcome, Outcome } from '../../core/answers/outcome.ts';
import type { WholesalePort } from '../../wholesale/wholesale-port.ts';

interface LookupSteps {
  readonly lookups: LookupProofs;
}

/** When a lookup is tried again that did not find what was surely bought. */
const retryMs = 600_000;
/**
 * The same after a lookup without an answer, or one that was denied. Until one is found, no key is
 * asked for its account.
 */
const failedRetryMs = 60_000;
/**
 * The same for a top-up: if the API does not show top-ups, nobody can correct that in the
 * configuration.
 */
const topupRetryMs = 86_400_000;
const familyOfKind = (kind: LookedUp): Family => (kind === 'esim_topup' ? 'esim' : kind);

/**
 * Whether "not found" can be believed. The path of a lookup is an assumption, because the spec
 * shows none, and an API that answers unknown paths with its own `not_found` would make every order
 * look absent. So lookups of a kind are believed only after one of them has found an order, under
 * the path that is configured now. When something was bought, one is tried.
 */
export class LookupCheck {
  readonly #steps: LookupSteps;
  #proven: readonly LookupProof[] = [];
  /** By kind and path: a corrected path is tried at once. */
  readonly #notBefore = new Map<string, number>();
  /** The kinds of which the outbox may say that a lookup did not find an order. */
  readonly #mayBeMissed = new Set<LookedUp>(lookedUpKinds);

  constructor(steps: LookupSteps) {
    this.#steps = steps;
  }

  async refresh(): Promise<void> {
    this.#proven = await this.#steps.lookups.proven();
  }

  #isProven(kind: LookedUp, path: string | null): boolean {
    return this.#proven.some((proof) => proof.kind === kind && proof.path === path);
  }

  /**
   * Whether a lookup has found what such an operation buys, under the path that is configured now.
   */
  hasFound(operation: Operation, wholesale: Pick<WholesalePort, 'lookupPath'>): boolean {
    return this.#isProven(lookedUpAs(operation), wholesale.lookupPath(familyOf(operation)));
  }

  async recordFound(
    operation: Operation,
    wholesale: Pick<WholesalePort, 'lookupPath'>,
  ): Promise<void> {
    const kind = lookedUpAs(operation);
    const path = wholesale.lookupPath(familyOf(operation));
    if (path !== null && !this.#isProven(kind, path)) await this.#prove(kind, path);
  }

  /** A top-up that is found among the eSIM orders proves lookups of eSIM orders, too. */
  async #prove(kind: LookedUp, path: string): Promise<void> {
    // The proof of the kind itself is written last. If the worker dies between the two, the next
    // top-up writes both.
    const kinds = new Set<LookedUp>([familyOfKind(kind), kind]);
    for (const one of kinds) {
      if (this.#isProven(one, path)) continue;
      await this.#steps.lookups.prove({ kind: one, path });
      this.#proven = [...this.#proven.filter((proof) => proof.kind !== one), { kind: one, path }];
    }
  }

  /** Looks up one order that was surely bought, of each kind that no lookup has found yet. */
  async tryOne(
    deps: CallDeps & { readonly wholesale: WholesalePort; readonly logger: Logger },
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, wholesale } = deps;
    for (const kind of lookedUpKinds) {
      const family = familyOfKind(kind);
      const now = clock.steadyMs();
      const path = wholesale.lookupPath(family);
      if (path === null && this.#mayBeMissed.delete(kind))
        await this.#steps.lookups.forgetMiss(kind);
      const place = `${kind} ${path}`;
      if (path === null || this.#isProven(kind, path) || now < (this.#notBefore.get(place) ?? 0))
        continue;
      const reference = await this.#steps.lookups.boughtReference(kind);
      if (reference === null) continue;
      const read = await budgetedLookup(deps, { family, reference }, signal);
      if (read === null) return;
      const { answer } = read;
      const absentRetryMs = kind === 'esim_topup' ? topupRetryMs : retryMs;
      this.#notBefore.set(place, now + (answer.kind === 'failed' ? failedRetryMs : absentRetryMs));
      await this.#judge({ kind, path, reference }, answer, deps);
    }
  }

  async #judge(
    bought: LookupProof & { readonly reference: string },
    answer: LookupOutcome,
    { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
  ): Promise<void> {
    const { kind, path, reference } = bought;
    if (answer.kind === 'found') {
      await this.#prove(kind, path);
      logger.info({ kind }, 'lookups work: an order that was bought was found by its reference');
    } else if (kind === 'esim_topup') {
      if (answer.kind === 'absent')
        logger.warn(
          { reference },
          'a lookup does not find a top-up that was bought: top-ups with an unknown outcome will need review',
        );
    } else if (answer.kind === 'absent' || isNoOrder(answer.outcome)) {
      this.#mayBeMissed.add(kind);
      await this.#steps.lookups.miss({ ...bought, at: isoTime(clock.wallMs()) });
      logger.error(
        { family: kind, reference },
        'a lookup does not find an order that was bought: check wholesale.wire.lookup; orders with an unknown outcome will need review',
      );
    }
  }
}

/** An answer that denies nobody: there is something else at this path. */
const isNoOrder = ({ http }: Outcome): boolean =>
  http !== null && http < 500 && ![401, 403, 429].includes(http);
