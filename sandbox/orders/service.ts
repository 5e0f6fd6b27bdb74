import { readOperations } from './read-operations.ts';
import { type Answer, type Call, type Progress } from './call.ts';
import { admissionChecks, orderChecks } from './checks.ts';
import { isPurchase, movesMoney } from '../values/operations.ts';
import { cancel, purchase } from './purchases.ts';
import type { SandboxState } from './sandbox-state.ts';

/**
 * A call that passed the checks of admission, what they required, and the headers of its answer.
 */
type Admitted = { call: Call; progress: Progress; headers: Record<string, string> };

/** A call that is not answered, or later. */
const noAnswer: Answer = { status: 0, body: '' };

/*
 * The service without HTTP: a call goes in, an answer comes out. Every function must run inside a
 * transaction that is committed before the answer is sent.
 */

/**
 * Answers a call and logs it. `fault` is the name of the fault that will spoil the answer, for the
 * log.
 */
export function answerCall(state: SandboxState, call: Call, fault: string | null): Answer {
  const progress: Progress = {};
  state.orders.settleDue(call.arrivedAt);
  const refused = refusalOf(state, call, progress, admissionChecks);
  const answer = refused ?? finish(state, call, progress);
  return logged(state, call, progress, answer, fault);
}

/** The first step of a call that is carried out later: the checks of admission count it now. */
export function admitCall(state: SandboxState, call: Call, fault: string): Answer | Admitted {
  const progress: Progress = {};
  const refused = refusalOf(state, call, progress, admissionChecks);
  if (refused !== null) return logged(state, call, progress, refused, fault);
  const { headers = {} } = logged(state, call, progress, noAnswer, fault);
  return { call, progress, headers };
}

/** The second step: the other checks, and the work. */
export function finishCall(state: SandboxState, { call, progress, headers }: Admitted): Answer {
  const late = { ...call, arrivedAt: state.clock.now() };
  state.orders.settleDue(late.arrivedAt);
  return { ...finish(state, late, progress), headers };
}

/**
 * Logs a call that is answered without the service, and returns that answer. Without one: the call
 * gets no answer.
 */
export function noteCall(
  state: SandboxState,
  call: Call,
  answer = noAnswer,
  fault: string | null = null,
): Answer {
  return logged(state, call, {}, answer, fault);
}

/** The answer as it is sent, with the number under which it is in the request log. */
function logged(
  state: SandboxState,
  call: Call,
  progress: Progress,
  answer: Answer,
  fault: string | null,
): Answer {
  const id = state.requestLog.add(call, progress, answer, fault);
  return { ...answer, headers: { ...answer.headers, 'request-id': `req-${id}` } };
}

/** The first refusal of these checks; null when the call passes all of them. */
function refusalOf(
  state: SandboxState,
  call: Call,
  progress: Progress,
  checks: typeof orderChecks,
): Answer | null {
  for (const check of Object.values(checks)) {
    const refused = check(call, progress, state);
    if (refused !== null) return refused;
  }
  return null;
}

function finish(state: SandboxState, call: Call, progress: Progress): Answer {
  const refused = movesMoney(call.operation) ? refusalOf(state, call, progress, orderChecks) : null;
  return refused ?? perform(state, call, progress);
}

function perform(state: SandboxState, call: Call, progress: Progress): Answer {
  const { operation } = call;
  if (isPurchase(operation)) return purchase(operation, call, progress, state);
  if (operation === 'esim_cancel') return cancel(call, progress, state);
  return readOperations[operation](call, progress, state);
}
