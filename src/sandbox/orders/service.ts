import { type Answer, errorCodeOf } from '../http/answers.ts';
import type { Call, Progress } from './call.ts';
import { admissionChecks, type CheckName } from './check-order.ts';
import { checks } from './checks.ts';
import { isPurchase } from './operations.ts';
import { cancel, purchase } from './purchases.ts';
import { readings } from '../http/read-operations.ts';
import { rememberRefusal } from './repeats.ts';
import type { RequestLog } from '../limits/request-log.ts';
import type { Shelf } from './sandbox-state.ts';
import { giftCardOrderRequest } from '../http/wire.ts';

/** A call that was let in, and what is known about it so far. */
export type Admitted = { call: Call; progress: Progress };

/**
 * The whole service, without HTTP: a call goes in, an answer comes out. Every method must run inside one transaction,
 * so that whatever it says is true on disk before anybody hears it.
 */
export class Service {
  readonly #shelf: Shelf;
  readonly #log: RequestLog;

  constructor(shelf: Shelf, log: RequestLog) {
    this.#shelf = shelf;
    this.#log = log;
  }

  answer(call: Call, fault: string | null): Answer {
    const progress = freshProgress();
    this.#shelf.orders.settleDue(call.arrivedAt);
    const answer = this.#run(this.#shelf.settings.checks, call, progress) ?? this.#perform(call, progress);
    this.#log.add(call, progress, answer.status, errorCodeOf(answer), answer.orderNumber ?? null, fault);
    return answer;
  }

  /** The first half of a call whose work is done later: counted now, by the checks that decide on entry. */
  admit(call: Call, fault: string): Answer | Admitted {
    const progress = freshProgress();
    const order = this.#shelf.settings.checks.filter((name) => admissionChecks.includes(name));
    const refused = this.#run(order, call, progress);
    this.#log.add(call, progress, refused?.status ?? 0, refused === null ? null : errorCodeOf(refused), null, fault);
    return refused ?? { call, progress };
  }

  /** The second half: the other checks, and the work. */
  finish({ call, progress }: Admitted, now: number): Answer {
    const late = { ...call, arrivedAt: now };
    this.#shelf.orders.settleDue(now);
    const order = this.#shelf.settings.checks.filter((name) => !admissionChecks.includes(name));
    return this.#run(order, late, progress) ?? this.#perform(late, progress);
  }

  /** Records a call that a fault kept from being worked on. Status 0: no answer. */
  note(call: Call, status: number, fault: string): void {
    this.#log.add(call, freshProgress(), status, null, null, fault);
  }

  /** The fault `empty_stock`: the order that was just placed took all that was left. */
  emptyStockOf(call: Call): void {
    const body = 'json' in call.body ? call.body.json : null;
    const variant = giftCardOrderRequest.safeParse(body).data?.variant;
    if (variant !== undefined) this.#shelf.stock.set(variant, 0);
  }

  #run(order: readonly CheckName[], call: Call, progress: Progress): Answer | null {
    let referenceIsNew = false;
    for (const name of order) {
      if (!concerns(name, call)) continue;
      const answer = checks[name](call, progress, this.#shelf);
      if (answer !== null) {
        if (referenceIsNew) rememberRefusal(call, progress, this.#shelf, answer);
        return answer;
      }
      if (name === 'reference') referenceIsNew = true;
    }
    return null;
  }

  #perform(call: Call, progress: Progress): Answer {
    const { operation } = call;
    if (isPurchase(operation)) return purchase(operation, call, progress, this.#shelf);
    if (operation === 'esim_cancel') return cancel(call, progress, this.#shelf);
    return readings[operation](call, progress, this.#shelf);
  }
}

/** Calls that only read go through the checks of admission; the others are about buying and cancelling. */
function concerns(name: CheckName, call: Call): boolean {
  return admissionChecks.includes(name) || isPurchase(call.operation) || call.operation === 'esim_cancel';
}

function freshProgress(): Progress {
  return { requestCounted: false, orderCounted: false, limited: false };
}
