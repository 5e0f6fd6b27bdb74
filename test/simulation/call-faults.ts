import type { ApiAnswer } from './api-call.ts';
import { errorAnswer } from './api-answers.ts';
import type { SeededRandom } from './seeded-random.ts';

/** What the network, or a proxy in between, does with one call. */
export type CallFault =
  | { readonly kind: 'none' }
  /** No byte is sent; the system reports this error. */
  | { readonly kind: 'not_sent'; readonly errorCode: string }
  /** Sent, but it never arrives at the API. */
  | { readonly kind: 'lost_request'; readonly end: LostEnd }
  /** The worker sees an error, but the call arrives later. */
  | { readonly kind: 'late_request'; readonly end: LostEnd; readonly lateMs: number }
  /** Processed, but the answer is lost or cut. */
  | { readonly kind: 'lost_answer'; readonly end: LostEnd | 'cut' }
  /** The API is slow; the worker may have given up before it answers. */
  | { readonly kind: 'slow'; readonly processMs: number }
  /** Another answer comes; the API may have processed the call or not. */
  | { readonly kind: 'replaced'; readonly processed: boolean; readonly answer: ApiAnswer }
  /** Not processed, and refused with an error of the API. */
  | { readonly kind: 'refused'; readonly answer: ApiAnswer }
  /**
   * A gateway sends the call twice; the worker gets the second answer, which may be a refusal
   * because of the first copy.
   */
  | { readonly kind: 'twice' }
  /**
   * A cache answers a lookup as the API has answered it before: with a header that says so, or only
   * with an old date.
   */
  | { readonly kind: 'cached'; readonly mark: CacheMark };

/** By what an answer shows that a cache gave it. */
export type CacheMark = 'age' | 'x-cache' | 'date';

export type LostEnd = 'reset' | 'timeout' | 'deadline';

export const noFault: CallFault = { kind: 'none' };

const page = (status: number, headers: Record<string, string> = {}): ApiAnswer => ({
  status,
  headers: { 'content-type': 'text/html', ...headers },
  body: `<html><title>${status}</title>gateway</html>`,
});

const notSent = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
  'ECONNRESET',
] as const;
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

/** An answer of a proxy, or of the API in a form that its specification does not show. */
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

/** A 429 of the API, which can come at any time without a reason. */
export function rateLimited(random: SeededRandom): ApiAnswer {
  return random.pick<() => ApiAnswer>(
    () => ({ status: 429, headers: { 'retry-after': String(random.int(1, 40)) }, body: '' }),
    () => ({ status: 429, headers: {}, body: '' }),
    () => ({
      status: 429,
      headers: {},
      body: '{"error":{"code":"too_many","message":"slow down"}}',
    }),
    () => ({ status: 429, headers: {}, body: '{"error":' }),
  )();
}

/** A refusal without a visible reason; sometimes in a 2xx, against the specification. */
function refusal(random: SeededRandom, path: string): ApiAnswer {
  const own = path.startsWith('/esim') ? refusalsOfEsims : refusalsOfGiftCards;
  const all = [...refusalsOfAny, ...own];
  const [status, code] = all[random.int(0, all.length - 1)] ?? [422, 'order_refused'];
  return errorAnswer(random.chance(0.1) ? 200 : status, code, 'not today');
}

/** An answer about another order, as a faulty cache gives it. */
function answerOfOtherOrder(random: SeededRandom, path: string): ApiAnswer {
  const number = `X${random.int(1, 999)}`;
  const shown = path.startsWith('/esim/esims/')
    ? { number, iccid: '8999000000000000009', status: 'completed' }
    : {
        number,
        reference: 'os-of-somebody-else',
        status: 'completed',
        codes: [{ code: 'CODE-OF-OTHERS' }],
      };
  return { status: 200, headers: {}, body: JSON.stringify(shown) };
}

/** A refusal of the account, the key or the address. */
function denialAnswer(random: SeededRandom): ApiAnswer {
  const [status, code] = random.pick(
    [401, 'invalid_key'] as const,
    [403, 'account_not_allowed'] as const,
    [403, 'ip_not_allowed'] as const,
    [503, 'api_disabled'] as const,
  );
  return errorAnswer(status, code, 'not now');
}

/** A lookup does not find an order that exists, as with a stale replica. */
const falseNotFound: CallFault = {
  kind: 'refused',
  answer: errorAnswer(404, 'not_found', 'nothing of that name'),
};

/** What a gateway, or a limit that it uses up, answers to the second copy of a call. */
export const deniedSecond = (random: SeededRandom, path: string): ApiAnswer =>
  random.pick<() => ApiAnswer>(
    () => rateLimited(random),
    () => denialAnswer(random),
    () => refusal(random, path),
  )();

const isNotFound = (callFault: CallFault): boolean =>
  callFault.kind === 'refused' && callFault.answer.body.includes('"not_found"');

/**
 * Lets lookups miss an order that exists, at most twice for each path: if the API denied an order
 * for ever, nobody could know that it was sold.
 */
export class FalseNotFound {
  readonly #times = new Map<string, number>();
  readonly #random: SeededRandom;
  readonly #share: number;
  /** References of calls that were sent twice: one lookup confirms a refusal. */
  readonly #repeated = new Set<string>();

  constructor(random: SeededRandom, share: number) {
    this.#random = random;
    this.#share = share;
  }

  repeated(reference: string): void {
    this.#repeated.add(reference);
  }

  /** The fault of a lookup for which `drawn` was drawn. */
  of(drawn: CallFault, path: string): CallFault {
    const callFault =
      path.includes('/orders/') && this.#random.chance(this.#share) ? falseNotFound : drawn;
    if (!isNotFound(callFault)) return callFault;
    if (this.#repeated.has(path.split('/').at(-1) ?? '')) return noFault;
    const times = (this.#times.get(path) ?? 0) + 1;
    this.#times.set(path, times);
    return times <= 2 ? callFault : noFault;
  }
}

const cacheMarks = ['age', 'x-cache', 'date'] as const;
const cachedLookup = (random: SeededRandom): CallFault => ({
  kind: 'cached',
  mark: random.pick(...cacheMarks),
});

/**
 * The first call for a subject is processed, and its answer is lost. A cache answers nearly all
 * lookups, and shows that in one way.
 */
function drawCacheFault(
  random: SeededRandom,
  call: { readonly spends: boolean; readonly first: boolean },
  seed: number,
) {
  if (!call.spends)
    return random.chance(0.9) ? cached(cacheMarks[seed % cacheMarks.length]) : noFault;
  const end = random.pick<LostEnd | 'cut'>('reset', 'cut', 'timeout');
  return call.first ? ({ kind: 'lost_answer', end } as const) : noFault;
}
const cached = (mark: CacheMark = 'age'): CallFault => ({ kind: 'cached', mark });

/**
 * Calls with an unknown outcome, and every answer that the next call for the same subject can get.
 */
function drawUnknownOutcomeFault(
  random: SeededRandom,
  call: { readonly path: string; readonly spends: boolean },
): CallFault {
  const kind = random.next();
  if (!call.spends && kind >= 0.3) return kind < 0.5 ? cachedLookup(random) : noFault;
  if (!call.spends) return { kind: 'lost_request', end: 'reset' };
  if (kind < 0.25)
    return { kind: 'lost_request', end: random.pick<LostEnd>('reset', 'timeout', 'deadline') };
  if (kind < 0.37) return { kind: 'lost_answer', end: random.pick('reset', 'cut') };
  if (kind < 0.5) return { kind: 'slow', processMs: 90_000 };
  if (kind < 0.52) return { kind: 'replaced', processed: false, answer: denialAnswer(random) };
  if (kind < 0.78) return { kind: 'refused', answer: refusal(random, call.path) };
  const code = random.pick(
    'ECONNREFUSED',
    'CERT_HAS_EXPIRED',
    'UND_ERR_PRX_TLS',
    'EMFILE',
    'UND_ERR_INVALID_ARG',
  );
  if (kind < 0.84) return { kind: 'not_sent', errorCode: code };
  return { kind: 'replaced', processed: random.chance(0.7), answer: foreignAnswer(random) };
}

/**
 * The first call for a subject is processed, but its answer does not show it; later calls have no
 * fault.
 */
function drawTrapFault(random: SeededRandom, first: boolean): CallFault {
  if (!first) return noFault;
  const kind = random.next();
  if (kind < 0.3) return { kind: 'lost_answer', end: random.pick('reset', 'cut', 'timeout') };
  const answer =
    kind < 0.55
      ? { status: 302, headers: { location: '/maintenance' }, body: '' }
      : foreignAnswer(random);
  return { kind: 'replaced', processed: true, answer };
}

/**
 * `unknown_outcomes` puts faults on the second and third call for a subject whose outcome is
 * unknown. `trap` lets the first call succeed without an answer, and the second one is refused
 * because of it. `repeated` sends buying calls and cancels twice; the answer of the second copy
 * comes back. `late` processes the first call after the worker has given up, and refuses the second
 * one meanwhile. `cached` loses the answer to the first call, and a cache repeats that its order is
 * not found.
 */
export type FaultProfile = 'mixed' | 'unknown_outcomes' | 'trap' | 'late' | 'repeated' | 'cached';

/** Draws what happens to a call while faults are on. */
export function drawFault(
  random: SeededRandom,
  call: { readonly path: string; readonly spends: boolean; readonly first: boolean },
  { profile, seed }: { readonly profile: FaultProfile; readonly seed: number },
): CallFault {
  if (profile === 'cached') return drawCacheFault(random, call, seed);
  if (profile === 'repeated' && call.spends) return { kind: 'twice' };
  if (profile === 'repeated')
    return random.chance(0.4) ? { kind: 'lost_request', end: 'reset' } : noFault;
  if (profile === 'trap') return drawTrapFault(random, call.spends && call.first);
  // This profile tests lookups that find nothing yet, and caches that repeat that.
  if (profile === 'late' && !call.spends)
    return random.chance(0.5) ? cachedLookup(random) : noFault;
  if (profile === 'late')
    return call.first
      ? { kind: 'slow', processMs: random.pick(90_000, 110_000) }
      : { kind: 'refused', answer: refusal(random, call.path) };
  if (profile === 'unknown_outcomes') return drawUnknownOutcomeFault(random, call);
  if (!call.spends && random.chance(0.15)) return cachedLookup(random);
  if (call.path.endsWith('/cancel') && random.chance(0.15))
    return {
      kind: 'replaced',
      processed: random.chance(0.5),
      answer: answerOfOtherOrder(random, call.path),
    };
  const end = random.pick<LostEnd>('reset', 'reset', 'timeout', 'deadline');
  const kind = random.next();
  if (kind < 0.1) return { kind: 'not_sent', errorCode: random.pick(...notSent) };
  if (kind < 0.12)
    return {
      kind: 'not_sent',
      errorCode: random.pick('CERT_HAS_EXPIRED', 'ERR_TLS_CERT_ALTNAME_INVALID'),
    };
  if (kind < 0.14)
    return {
      kind: 'not_sent',
      errorCode: random.pick('UND_ERR_PRX_TLS', 'EMFILE', 'UND_ERR_INVALID_ARG'),
    };
  if (kind < 0.22) return { kind: 'lost_request', end };
  if (kind < 0.3) return { kind: 'late_request', end, lateMs: random.int(1, 25_000) };
  if (kind < 0.5) return { kind: 'lost_answer', end: random.chance(0.3) ? 'cut' : end };
  if (kind < 0.62) return { kind: 'slow', processMs: random.pick(1000, 20_000, 45_000, 90_000) };
  if (kind < 0.72) return { kind: 'replaced', processed: false, answer: foreignAnswer(random) };
  if (kind < 0.82) return { kind: 'replaced', processed: true, answer: foreignAnswer(random) };
  if (kind < 0.9) return { kind: 'replaced', processed: false, answer: rateLimited(random) };
  if (kind < 0.97) return { kind: 'refused', answer: refusal(random, call.path) };
  if (kind < 0.98)
    return {
      kind: 'replaced',
      processed: random.chance(0.5),
      answer: answerOfOtherOrder(random, call.path),
    };
  return call.spends ? { kind: 'twice' } : cachedLookup(random);
}

/**
 * The drawn fault; no fault instead, if nobody could decide the outcome of the call correctly with
 * it.
 */
export function decidableFault(
  drawn: CallFault,
  call: {
    /** The worker can look up what the first copy of a call did. */
    readonly repeatable: boolean;
    /** An outbox that is lost by now has bought it. */
    readonly forgotten: boolean;
    /** The per-order limits never change. */
    readonly limitsLast: boolean;
  },
): CallFault {
  // Where lookups come too early, nobody could see that the first of two copies was processed and
  // the second refused.
  if (drawn.kind === 'twice' && !call.repeatable) return noFault;
  // After a loss, only some references of a line are looked up. They do not find a later part of an
  // order that was split above a limit, if the order is within the limit after the loss.
  if (call.limitsLast && drawn.kind === 'refused' && drawn.answer.body.includes('"limit_exceeded"'))
    return noFault;
  // Only the lost outbox knew that this call was sent before, so the worker believes a refusal. In
  // runs that lose their disk, the API looks for the reference first, so it would not refuse this
  // call.
  return drawn.kind === 'refused' && call.forgotten ? noFault : drawn;
}
