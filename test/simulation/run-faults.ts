import type { ApiCall } from './api-call.ts';
import type { ApiLedger } from './api-ledger.ts';
import { noFault, drawFault, FalseNotFound, decidableFault, type CallFault } from './call-faults.ts';
import type { RunPlan } from './run-plan.ts';
import { SeededRandom } from './seeded-random.ts';
import { troubleOf } from './troubles.ts';
import { subjectOf, type WireWatch } from './wire-watch.ts';

/** Chooses the fault of every call of one run: by the script of the plan, or at random. */
export class RunFaults {
  readonly #plan: RunPlan;
  readonly #random: SeededRandom;
  readonly #wire: WireWatch;
  readonly #ledger: ApiLedger;
  readonly #nowMs: () => number;
  readonly #falseNotFound: FalseNotFound;
  #calls = 0;

  constructor(plan: RunPlan, seen: { random: SeededRandom; wire: WireWatch; ledger: ApiLedger; nowMs: () => number }) {
    this.#plan = plan;
    this.#random = seen.random;
    this.#wire = seen.wire;
    this.#ledger = seen.ledger;
    this.#nowMs = seen.nowMs;
    this.#falseNotFound = new FalseNotFound(new SeededRandom(plan.seed ^ 0x51ed270b), plan.falseNotFoundShare);
  }

  of(call: ApiCall, spends: boolean): CallFault {
    const plan = this.#plan;
    this.#calls += 1;
    if (plan.script !== null) return plan.script(call, this.#calls);
    const trouble = troubleOf(plan.troubles, call, this.#nowMs());
    if (trouble !== null) return trouble;
    const faulty = this.#nowMs() < plan.faultsOffMs && this.#random.chance(plan.faultShare);
    if (!faulty) return spends ? noFault : this.#falseNotFound.of(noFault, call.path);
    const first = !this.#wire.seen.has(subjectOf(call));
    const callFault = drawFault(this.#random, { path: call.path, spends, first }, plan.faultProfile);
    const replayed = plan.readings.replay === 'first' && !call.path.endsWith('/cancel');
    const forgotten = this.#wire.outboxLost && !plan.looksUpFirst && this.#ledger.find(subjectOf(call)) !== undefined;
    const decidable = decidableFault(callFault, { replayed, forgotten, limitsLast: plan.looksUpFirst });
    return spends ? decidable : this.#falseNotFound.of(decidable, call.path);
  }
}
