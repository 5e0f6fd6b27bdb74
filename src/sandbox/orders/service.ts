import { type Answer, textOf } from './answers.ts';
import { readOperations } from './read-operations.ts';
import type { RequestLog } from '../limits/request-log.ts';
import type { Call, Progress } from './call.ts';
import { admissionChecks, type CheckName } from '../settings/check-order.ts';
import { checks } from './checks.ts';
import { isPurchase, movesMoney } from '../values/operations.ts';
import { cancel, purchase, rememberRefusal } from './purchases.ts';
import type { SandboxState } from './sandbox-state.ts';

/** A call that passed the checks of admission, what they required, and the headers of its answer. */
type Admitted = { call: Call; progress: Progress; headers: Record<string, string> };

/** A call that is not answered, or later. */
const noAnswer: Answer = { status: 0, body: '' };

/**
 * The service without HTTP: a call goes in, an answer comes out. Every method must run inside a transaction that is
 * committed before the answer is sent.
 */
export class Service {
  readonly #state: SandboxState;
  readonly #log: RequestLog;

  constructor(state: SandboxState, log: RequestLog) {
    this.#state = state;
    this.#log = log;
  }

  /** Answers a call and logs it. `fault` is the name of the fault that will spoil the answer, for the log. */
  answer(call: Call, fault: string | null): Answer {
    const progress: Progress = {};
    this.#state.orders.settleDue(call.arrivedAt);
    const answer = this.#check(call, progress, () => true) ?? this.#perform(call, progress);
    return this.#logged(call, progress, answer, fault);
  }

  /** The first step of a call that is carried out later: the checks of admission count it now. */
  admit(call: Call, fault: string): Answer | Admitted {
    const progress: Progress = {};
    const refused = this.#check(call, progress, (name) => admissionChecks.includes(name));
    if (refused !== null) return this.#logged(call, progress, refused, fault);
    const { headers = {} } = this.#logged(call, progress, noAnswer, fault);
    return { call, progress, headers };
  }

  /** The second step: the other checks, and the work. */
  finish({ call, progress, headers }: Admitted, now: number): Answer {
    const late = { ...call, arrivedAt: now };
    this.#state.orders.settleDue(now);
    const refused = this.#check(late, progress, (name) => !admissionChecks.includes(name));
    return { ...(refused ?? this.#perform(late, progress)), headers };
  }

  /** Logs a call that is answered without the service, and returns that answer. Without one: the call gets no answer. */
  note(call: Call, answer: Answer = noAnswer, fault: string | null = null): Answer {
    return this.#logged(call, {}, answer, fault);
  }

  /** The fault `empty_stock`: takes the rest of the stock after this order. */
  emptyStock(orderNumber: string): void {
    const { family, item } = this.#state.orders.require(orderNumber);
    if (family === 'gift_card') this.#state.stock.set(item, 0);
  }

  /** The answer as it is sent, with the number under which it is in the request log. */
  #logged(call: Call, progress: Progress, answer: Answer, fault: string | null): Answer {
    const sent = { ...answer, body: textOf(answer) };
    const id = this.#log.add({
      ...call,
      key: progress.key?.id ?? null,
      letIn: progress.letIn,
      status: answer.status,
      code: answer.code ?? null,
      reference: progress.purchase?.reference ?? null,
      order_number: answer.orderNumber ?? null,
      fault,
      request: call.body.text,
      response: sent.body,
    });
    return { ...sent, headers: { ...answer.headers, 'request-id': `req-${id}` } };
  }

  /** Runs the selected checks in the configured order. The first refusal is the answer. */
  #check(call: Call, progress: Progress, selected: (name: CheckName) => boolean): Answer | null {
    let referenceIsNew = false;
    for (const name of this.#state.settings.checks) {
      if (!selected(name) || !(admissionChecks.includes(name) || movesMoney(call.operation))) continue;
      const answer = checks[name](call, progress, this.#state);
      if (answer !== null) {
        if (referenceIsNew) rememberRefusal(call, progress, this.#state, answer);
        return answer;
      }
      if (name === 'reference') referenceIsNew = true;
    }
    return null;
  }

  #perform(call: Call, progress: Progress): Answer {
    const { operation } = call;
    if (isPurchase(operation)) return purchase(operation, call, progress, this.#state);
    if (operation === 'esim_cancel') return cancel(call, progress, this.#state);
    return readOperations[operation](call, progress, this.#state);
  }
}
