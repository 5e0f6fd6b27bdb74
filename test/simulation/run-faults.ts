import type { ApiCall } from './api-call.ts';
import type { ApiLedger } from './api-ledger.ts';
import {
  noFault,
  drawFault,
  FalseNotFound,
  decidableFault,
  rateLimited,
  type CallFault,
} from './call-faults.ts';
import type { RunPlan } from './run-plan.ts';
import { SeededRandom } from './seeded-random.ts';
import { lasts, troubleOf } from './troubles.ts';
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

  constructor(
    plan: RunPlan,
    seen: { random: SeededRandom; wire: WireWatch; ledger: ApiLedger; nowMs: () => number },
  ) {
    this.#plan = plan;
    this.#random = seen.random;
    this.#wire = seen.wire;
    this.#ledger = seen.ledger;
    this.#nowMs = seen.nowMs;
    this.#falseNotFound = new FalseNotFound(
      new SeededRandom(plan.seed ^ 0x51ed270b),
      plan.falseNotFoundShare,
    );
  }

  of(call: ApiCall, spends: boolean): CallFault {
    const plan = this.#plan;
    this.#calls += 1;
    if (plan.script !== null) return plan.script(call, this.#calls);
    const trouble = troubleOf(plan.troubles, call, this.#nowMs());
    if (trouble !== null) return trouble;
    if (lasts(plan.keysOfOthers, this.#nowMs()) && this.#random.chance(0.7))
      return { kind: 'replaced', processed: false, answer: rateLimited(this.#random) };
    const faulty = this.#nowMs() < plan.faultsOffMs && this.#random.chance(plan.faultShare);
    if (!faulty) return spends ? noFault : this.#falseNotFound.of(noFault, call.path);
    const first = !this.#wire.seen.has(subjectOf(call));
    const { faultProfile: profile, seed } = plan;
    // While no lookup is believed, an absence decides nothing.
    if (profile === 'cached' && !this.#isLookupTrusted(call, spends)) return noFault;
    const callFault = drawFault(
      this.#random,
      { path: call.path, spends, first },
      { profile, seed },
    );
    const repeatable = this.#isRepeatable(call);
    const forgotten =
      this.#wire.outboxLost &&
      !plan.looksUpFirst &&
      this.#ledger.find(subjectOf(call)) !== undefined;
    const decidable = decidableFault(callFault, {
      repeatable,
      forgotten,
      limitsLast: plan.looksUpFirst,
    });
    if (decidable.kind === 'twice') this.#falseNotFound.repeated(this.#lookedUpAs(call) ?? '');
    return spends ? decidable : this.#falseNotFound.of(decidable, call.path);
  }

  /**
   * The reference under which a lookup shows what became of a call; null for a cancel of which none
   * shows it.
   */
  #lookedUpAs(call: ApiCall): string | null {
    const iccid = /^\/esim\/esims\/([^/]+)\/cancel$/.exec(call.path)?.[1];
    return iccid === undefined ? subjectOf(call) : cancelShownBy(this.#plan, this.#ledger, iccid);
  }

  #isLookupTrusted(call: ApiCall, spends: boolean): boolean {
    if (spends) return this.#wire.trusts(kindOf(call));
    return this.#wire.trusts(call.path.startsWith('/esim') ? 'esim' : 'gift_card');
  }

  /** Whether a gateway may send this call twice. */
  #isRepeatable(call: ApiCall): boolean {
    const { readings, lostDiskAtMs } = this.#plan;
    // Where no lookup shows what became of a cancel, its refusal needs review.
    if (call.path.endsWith('/cancel')) return lostDiskAtMs === null;
    // The lookup comes four seconds after the refusal.
    return readings.lookupLagMs <= 2000;
  }
}

/** The reference of the order that shows that an eSIM was cancelled; null: none does. */
export function cancelShownBy(plan: RunPlan, ledger: ApiLedger, iccid: string): string | null {
  const { cancelShows } = plan.readings;
  const reference = ledger.esims.get(iccid)?.orderReference ?? null;
  const order = reference === null ? undefined : ledger.find(reference);
  const isShown =
    cancelShows === 'unit_cancelled' ||
    (cancelShows === 'order_refunded' && order?.units.length === 1);
  // The worker looks up an order that was fulfilled.
  return isShown && order?.state === 'sold' && !plan.troubles.products.has(order.product)
    ? reference
    : null;
}

/** The kind of lookup that finds what a call bought. */
function kindOf({ path }: ApiCall): 'gift_card' | 'esim' | 'esim_topup' {
  return path === '/orders' ? 'gift_card' : path.endsWith('/topups') ? 'esim_topup' : 'esim';
}
