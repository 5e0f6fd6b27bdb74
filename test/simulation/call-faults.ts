import type { ApiAnswer } from './api-call.ts';
import { errorAnswer } from './api-answers.ts';
import type { SeededRandom } from './seeded-random.ts';

/** What the network, or somebody on the way, does with one call. */
export type CallFault =
  | { readonly kind: 'clean' }
  /** No byte leaves: this is what the system says. */
  | { readonly kind: 'not_sent'; readonly errorCode: string }
  /** Sent, and never seen by the API. */
  | { readonly kind: 'lost_request'; readonly end: LostEnd }
  /** The worker sees it lost; it arrives nevertheless, later. */
  | { readonly kind: 'late_request'; readonly end: LostEnd; readonly lateMs: number }
  /** Processed, and the answer does not come, or comes in part. */
  | { readonly kind: 'lost_answer'; readonly end: LostEnd | 'cut' }
  /** The API takes its time; the worker may have left when it is done. */
  | { readonly kind: 'slow'; readonly processMs: number }
  /** Something else is answered, whether the API processed the call or never saw it. */
  | { readonly kind: 'instead'; readonly processed: boolean; readonly answer: ApiAnswer }
  /** Never processed, and refused with an error of the API. */
  | { readonly kind: 'refused'; readonly answer: ApiAnswer }
  /** Something on the way sends the call twice; the worker gets the second answer. */
  | { readonly kind: 'twice' };

export type LostEnd = 'reset' | 'timeout' | 'deadline';

export const clean: CallFault = { kind: 'clean' };

const page = (status: number, headers: Record<string, string> = {}): ApiAnswer => ({
  status,
  headers: { 'content-type': 'text/html', ...headers },
  body: `<html><title>${status}</title>gateway</html>`,
});

const notSent = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT', 'ECONNRESET'] as const;
const refusalsOfAny = [
  [422, 'invalid_request'],
  [422, 'order_refused'],
  [422, 'some_new_code'],
  [400, 'order_refused'],
  [402, 'insufficient_balance'],
  [422, 'currency_unavailable'],
  [409, 'reference_in_use'],
  [404, 'not_found'],
] as const;
const refusalsOfGiftCards = [
  [404, 'invalid_variant'],
  [409, 'out_of_stock'],
  [422, 'limit_exceeded'],
  [422, 'not_api_sellable'],
  [409, 'not_cancellable'],
] as const;
const refusalsOfEsims = [
  [404, 'invalid_plan'],
  [422, 'invalid_plan'],
  [422, 'topup_not_allowed'],
  [409, 'not_cancellable'],
  [404, 'invalid_variant'],
] as const;

/** An answer by someone who is not the API, or by the API in a form that its specification does not show. */
function foreignAnswer(random: SeededRandom): ApiAnswer {
  return random.pick<() => ApiAnswer>(
    () => page(502),
    () => page(504),
    () => page(500),
    () => page(503),
    () => page(403),
    () => page(404),
    () => ({ status: 408, headers: {}, body: '' }),
    () => ({ status: 500, headers: {}, body: '' }),
    () => errorAnswer(500, 'internal', 'an error inside'),
    () => errorAnswer(502, 'upstream', 'an error behind'),
    () => ({ status: 200, headers: {}, body: '' }),
    () => page(200),
    () => ({ status: 200, headers: {}, body: '{"number":"G1","codes":[{"code":"CO' }),
    () => ({ status: 200, headers: {}, body: '["x"]' }),
    () => ({ status: 202, headers: {}, body: '{"error":{"message":"strange"}}' }),
    () => ({ status: 302, headers: { location: 'https://login.example/' }, body: '' }),
    () => ({ status: 307, headers: { location: 'https://other.example/orders' }, body: '' }),
  )();
}

/** What the API itself may answer at any time without having done anything. */
function rateLimited(random: SeededRandom): ApiAnswer {
  return random.pick<() => ApiAnswer>(
    () => ({ status: 429, headers: { 'retry-after': String(random.int(1, 40)) }, body: '' }),
    () => ({ status: 429, headers: {}, body: '' }),
    () => ({ status: 429, headers: {}, body: '{"error":{"code":"too_many","message":"slow down"}}' }),
    () => ({ status: 429, headers: {}, body: '{"error":' }),
  )();
}

/** A definite refusal that comes without a reason that could be seen; also in a 2xx, against the specification. */
function refusal(random: SeededRandom, path: string): ApiAnswer {
  const own = path.startsWith('/esim') ? refusalsOfEsims : refusalsOfGiftCards;
  const all = [...refusalsOfAny, ...own];
  const [status, code] = all[random.int(0, all.length - 1)] ?? [422, 'order_refused'];
  return errorAnswer(random.chance(0.1) ? 200 : status, code, 'not today');
}

/** An answer about somebody else's order, as a mixed-up cache or server gives it. */
function answerOfOtherOrder(random: SeededRandom, path: string): ApiAnswer {
  const number = `X${random.int(1, 999)}`;
  const shown = path.startsWith('/esim/esims/')
    ? { number, iccid: '8999000000000000009', status: 'completed' }
    : { number, reference: 'os-of-somebody-else', status: 'completed', codes: [{ code: 'CODE-OF-OTHERS' }] };
  return { status: 200, headers: {}, body: JSON.stringify(shown) };
}

/** What the API answers at its door, whatever is asked. */
function denial_(random: SeededRandom): ApiAnswer {
  const [status, code] = random.pick(
    [401, 'invalid_key'] as const,
    [403, 'account_not_allowed'] as const,
    [403, 'ip_not_allowed'] as const,
    [503, 'api_disabled'] as const,
  );
  return errorAnswer(status, code, 'not now');
}

/** A mixed-up cache or replica does not find what is there. */
const falseNotFound: CallFault = { kind: 'refused', answer: errorAnswer(404, 'not_found', 'nothing of that name') };

const isNotFound = (callFault: CallFault): boolean =>
  callFault.kind === 'refused' && callFault.answer.body.includes('"not_found"');

/** Mislays nothing for a third time: an API that goes on denying what it sold cannot be told from one that never sold it. */
export class FalseNotFound {
  readonly #times = new Map<string, number>();
  readonly #random: SeededRandom;
  readonly #share: number;

  constructor(random: SeededRandom, share: number) {
    this.#random = random;
    this.#share = share;
  }

  /** What becomes of a lookup for which this was drawn. */
  of(drawn: CallFault, path: string): CallFault {
    const callFault = path.includes('/orders/') && this.#random.chance(this.#share) ? falseNotFound : drawn;
    if (!isNotFound(callFault)) return callFault;
    const times = (this.#times.get(path) ?? 0) + 1;
    this.#times.set(path, times);
    return times <= 2 ? callFault : clean;
  }
}

/** Calls of which nobody knows the end, and then every answer that the next call for the same thing may meet. */
function drawUnknownOutcomeFault(
  random: SeededRandom,
  call: { readonly path: string; readonly spends: boolean },
): CallFault {
  const kind = random.next();
  if (!call.spends) return kind < 0.3 ? { kind: 'lost_request', end: 'reset' } : clean;
  if (kind < 0.25) return { kind: 'lost_request', end: random.pick<LostEnd>('reset', 'timeout', 'deadline') };
  if (kind < 0.37) return { kind: 'lost_answer', end: random.pick('reset', 'cut') };
  if (kind < 0.5) return { kind: 'slow', processMs: 90_000 };
  if (kind < 0.52) return { kind: 'instead', processed: false, answer: denial_(random) };
  if (kind < 0.78) return { kind: 'refused', answer: refusal(random, call.path) };
  const code = random.pick('ECONNREFUSED', 'CERT_HAS_EXPIRED', 'UND_ERR_PRX_TLS', 'EMFILE', 'UND_ERR_INVALID_ARG');
  if (kind < 0.84) return { kind: 'not_sent', errorCode: code };
  return { kind: 'instead', processed: random.chance(0.7), answer: foreignAnswer(random) };
}

/** The first call for a thing is processed, and its answer is none; what comes after is as clean as can be. */
function drawTrapFault(random: SeededRandom, first: boolean): CallFault {
  if (!first) return clean;
  const kind = random.next();
  if (kind < 0.3) return { kind: 'lost_answer', end: random.pick('reset', 'cut', 'timeout') };
  const answer = kind < 0.55 ? { status: 302, headers: { location: '/maintenance' }, body: '' } : foreignAnswer(random);
  return { kind: 'instead', processed: true, answer };
}

/**
 * `doubtful` gathers its faults where they hurt most: on the second and third call for something that is in doubt.
 * `trap` lets the first call succeed unseen, so that a refusal of the second is the doing of the first.
 * `late` takes longer over the first call than anybody waits, and refuses the second meanwhile.
 */
export type FaultProfile = 'mixed' | 'unknown_outcomes' | 'trap' | 'late';

/** Draws what happens to a call while faults are on. */
export function drawFault(
  random: SeededRandom,
  call: { readonly path: string; readonly spends: boolean; readonly first: boolean },
  profile: FaultProfile,
): CallFault {
  if (profile === 'trap') return drawTrapFault(random, call.spends && call.first);
  // Its lookups are answered: what they do not find is what this is about.
  if (profile === 'late' && !call.spends) return clean;
  if (profile === 'late')
    return call.first
      ? { kind: 'slow', processMs: random.pick(90_000, 110_000) }
      : { kind: 'refused', answer: refusal(random, call.path) };
  if (profile === 'unknown_outcomes') return drawUnknownOutcomeFault(random, call);
  const end = random.pick<LostEnd>('reset', 'reset', 'timeout', 'deadline');
  const kind = random.next();
  if (kind < 0.1) return { kind: 'not_sent', errorCode: random.pick(...notSent) };
  if (kind < 0.12)
    return { kind: 'not_sent', errorCode: random.pick('CERT_HAS_EXPIRED', 'ERR_TLS_CERT_ALTNAME_INVALID') };
  if (kind < 0.14)
    return { kind: 'not_sent', errorCode: random.pick('UND_ERR_PRX_TLS', 'EMFILE', 'UND_ERR_INVALID_ARG') };
  if (kind < 0.22) return { kind: 'lost_request', end };
  if (kind < 0.3) return { kind: 'late_request', end, lateMs: random.int(1, 25_000) };
  if (kind < 0.5) return { kind: 'lost_answer', end: random.chance(0.3) ? 'cut' : end };
  if (kind < 0.62) return { kind: 'slow', processMs: random.pick(1000, 20_000, 45_000, 90_000) };
  if (kind < 0.72) return { kind: 'instead', processed: false, answer: foreignAnswer(random) };
  if (kind < 0.82) return { kind: 'instead', processed: true, answer: foreignAnswer(random) };
  if (kind < 0.9) return { kind: 'instead', processed: false, answer: rateLimited(random) };
  if (kind < 0.97) return { kind: 'refused', answer: refusal(random, call.path) };
  if (kind < 0.98)
    return { kind: 'instead', processed: random.chance(0.5), answer: answerOfOtherOrder(random, call.path) };
  return call.spends ? { kind: 'twice' } : clean;
}

/** What was drawn for a call, unless nobody could keep a promise under it: then the call is as clean as can be. */
export function decidableFault(
  drawn: CallFault,
  call: {
    /** Its reference is looked for before anything else is checked. */
    readonly replayed: boolean;
    /** An outbox that was lost since bought it. */
    readonly forgotten: boolean;
    /** A per-order limit that was met once is there for good. */
    readonly limitsLast: boolean;
  },
): CallFault {
  // One clean call that was doubled on the way and is answered with a refusal of its own first half: nobody could tell
  // that from a refusal. It is left to calls whose reference is known before anything else is checked.
  if (drawn.kind === 'twice' && !call.replayed) return clean;
  // An order that was parted above a limit, not in its first part, and that may be had whole after the loss of its outbox,
  // is not found by the references that are looked up.
  if (call.limitsLast && drawn.kind === 'refused' && drawn.answer.body.includes('"limit_exceeded"')) return clean;
  // Only the outbox that is gone knew that this was sent before, so the refusal is believed. Runs that lose their disk
  // read the API so that it knows a reference before it refuses anything: it would not have refused this one.
  return drawn.kind === 'refused' && call.forgotten ? clean : drawn;
}
