import type { LookedUp } from '../../src/core/order/purchase.ts';
import type { CallEnd } from '../../src/wholesale/transport/call-end.ts';
import { CallWatch, isCached, isProbe } from './call-watch.ts';
import type { SimProcess } from './sim-process.ts';
import type { WireCall, WireObserver } from './sim-network.ts';
import type { Invariant } from './invariants.ts';

/** What the worker can have seen of one purchase or cancel. */
export interface SeenOfCall {
  /** A call ended without telling whether it was processed. */
  outcomeUnknown: boolean;
  /** An answer came that only an operator can judge. */
  undecidable: boolean;
  /** The API refused this order itself. */
  refused: boolean;
  /** The answer showed other goods, and no lookup has shown since what was ordered. */
  otherGoods: boolean;
  /** When its first call was sent; null: never. */
  leftAtMs: number | null;
  /** When its latest call was sent. */
  lastLeftAtMs: number | null;
  /** When the call before that left, and when the worker last learned what became of a call. */
  leftBeforeMs: number | null;
  learnedMs: number;
  /** Of its latest call. */
  authorization: string | null;
  body: string | null;
  /**
   * A lost outbox sent it without success, so the next outbox may send another body under its
   * reference.
   */
  mayDiffer: boolean;
  path: string;
  family: 'gift_card' | 'esim' | null;
  /** When the worker last got an answer about it, also by a lookup. */
  lastMs: number;
}

/** A denial of the account or of a key, as the worker saw it. */
interface Denied {
  readonly atMs: number;
  recorded: boolean;
  /** Probes since then whose answer does not tell whether the denial is over. */
  unclear: number;
}

/** After so many probes that cannot tell, the next order is the probe. */
const unclearProbes = 3;

/**
 * The reference of a purchase, or the eSIM of a cancel. There must be only one call for it at a
 * time.
 */
export function subjectOf(call: { path: string; body: string | null }): string {
  const reference = /"reference":"([^"]+)"/.exec(call.body ?? '')?.[1];
  return reference ?? `cancel:${/esims\/([^/]+)\//.exec(call.path)?.[1] ?? call.path}`;
}

const accountWide = new Set(['account_not_allowed', 'api_disabled']);
const keyWide = new Set(['invalid_key', 'ip_not_allowed']);
const unexpectedCodes = new Set(['reference_in_use', 'some_new_code']);

function codeIn(end: CallEnd): string | null {
  if (end.kind !== 'answer') return null;
  return /^\{"error":\{"code":"([^"]+)"/.exec(Buffer.from(end.body).toString('utf8'))?.[1] ?? null;
}

/**
 * Observes the calls of the worker from outside: what it sends, what overlaps, what comes back, and
 * what it sends although the API has denied it.
 */
export class WireWatch implements WireObserver {
  readonly seen = new Map<string, SeenOfCall>();
  readonly calls: CallWatch;
  outboxLost = false;
  readonly #live = new Map<string, WireCall>();
  /** When each reference was last looked up. */
  readonly #looked = new Map<string, number>();
  /** How often in a row lookups of a reference ended with "not found", by now and at most. */
  readonly #absences = new Map<string, { row: number; most: number }>();
  readonly #found = new Map<string, { atMs: number; recorded: boolean }>();
  #foundInCopy: ReadonlySet<string> = new Set();
  readonly #denied = new Map<string, Denied>();
  /**
   * A cache answered, or an order was not found that was bought: then the worker may not know whose
   * key it is.
   */
  isKeyInQuestion = false;
  readonly #bought = new Set<string>();
  /** When a key was last denied, also if it was let in since. */
  readonly #keyDenials = new Map<string, number>();
  /** When an order of a product was denied last, and when any order was accepted last. */
  readonly #deniedProducts = new Map<string, number>();
  #acceptedMs = 0;
  readonly #nowMs: () => number;
  readonly #violate: (invariant: Invariant, sentence: string) => void;
  readonly #beforeLeaving: (wire: WireCall, subject: string) => void;
  readonly trace: (what: string) => void;

  constructor(options: {
    nowMs: () => number;
    violate: (invariant: Invariant, sentence: string) => void;
    beforeLeaving: (wire: WireCall, subject: string) => void;
    trace: (what: string) => void;
  }) {
    this.#nowMs = options.nowMs;
    this.#violate = options.violate;
    this.#beforeLeaving = options.beforeLeaving;
    this.trace = options.trace;
    this.calls = new CallWatch(options);
  }

  of(subject: string): SeenOfCall {
    const found = this.seen.get(subject);
    if (found !== undefined) return found;
    const made: SeenOfCall = {
      outcomeUnknown: false,
      undecidable: false,
      refused: false,
      otherGoods: false,
      leftAtMs: null,
      lastLeftAtMs: null,
      leftBeforeMs: null,
      learnedMs: 0,
      authorization: null,
      body: null,
      mayDiffer: false,
      path: '',
      family: null,
      lastMs: 0,
    };
    this.seen.set(subject, made);
    return made;
  }

  onLeaving(wire: WireCall): void {
    const { call, spends } = wire;
    this.calls.onLeaving(wire);
    if (!spends) return;
    const subject = subjectOf(call);
    const seen = this.of(subject);
    seen.leftAtMs ??= this.#nowMs();
    seen.leftBeforeMs = seen.lastLeftAtMs;
    seen.lastLeftAtMs = this.#nowMs();
    seen.authorization = call.authorization;
    const family = call.path.startsWith('/esim') ? 'esim' : 'gift_card';
    if (seen.path === '' || seen.mayDiffer)
      Object.assign(seen, { path: call.path, body: call.body, family, mayDiffer: false });
    else if (seen.path !== call.path || seen.body !== call.body)
      this.#violate(
        'I3',
        `${subject} was sent as ${call.path} ${call.body ?? ''}, before as ${seen.path} ${seen.body ?? ''}`,
      );
    for (const live of this.#live.values()) {
      const sameEsim = iccidOf(live.call) !== null && iccidOf(live.call) === iccidOf(call);
      if (subjectOf(live.call) === subject || sameEsim)
        this.#violate('I20', `${subject} was sent while another call for it was in flight`);
    }
    this.#live.set(`${subject} ${wire.process.number}`, wire);
    this.#checkDenials(wire);
    this.#beforeLeaving(wire, subject);
  }

  #checkDenials(wire: WireCall): void {
    for (const scope of ['account', wire.call.authorization]) {
      const denied = this.#denied.get(scope);
      if (denied === undefined || this.#nowMs() - denied.atMs <= 2000) continue;
      if (denied.unclear >= unclearProbes) denied.unclear = 0;
      else
        this.#violate(
          'I12',
          `money was sent although ${scope === 'account' ? 'the account' : 'the key'} was denied`,
        );
    }
  }

  onEnd(wire: WireCall, end: CallEnd): void {
    const { call, spends } = wire;
    const http = end.http ?? null;
    const code = codeIn(end);
    this.trace(
      `worker sees ${call.method} ${call.path}: ${end.kind === 'fault' ? `${end.row}${end.sent ? '' : ', not sent'}` : ''} ${http ?? ''} ${code ?? ''}`,
    );
    const denies =
      code === null
        ? null
        : accountWide.has(code)
          ? 'account'
          : keyWide.has(code)
            ? call.authorization
            : null;
    if (denies !== null && denies === call.authorization)
      this.#keyDenials.set(denies, this.#nowMs());
    // A maintenance is never that of a product.
    if (denies !== null && (code === 'api_disabled' || !this.#isDeniedAlone(call.body)))
      this.#denied.set(denies, { atMs: this.#nowMs(), recorded: false, unclear: 0 });
    if (isOrder(end)) this.#acceptedMs = this.#nowMs();
    if (denies === null) this.#answeredWhileDenied(wire, end, code);
    this.calls.onEnd(wire, end, spends ? subjectOf(call) : call.path);
    if (!spends) {
      const cached = isCached(end, wire.leftAtMs);
      this.isKeyInQuestion ||= cached;
      this.#lookedUp(call.path, end, cached);
      return;
    }
    const subject = subjectOf(call);
    this.#live.delete(`${subject} ${wire.process.number}`);
    const seen = this.of(subject);
    seen.lastMs = this.#nowMs();
    seen.learnedMs = this.#nowMs();
    if (isOrder(end)) this.#bought.add(subject);
    const aboutAll = code !== null && (accountWide.has(code) || keyWide.has(code));
    if (code !== null && !aboutAll && end.http !== 429) seen.refused = true;
    const understood = end.kind === 'answer' && (code !== null || end.http === 429 || isOrder(end));
    if (!understood && (end.kind === 'answer' || end.sent)) seen.outcomeUnknown = true;
    if (end.kind === 'answer' && end.http >= 500 && code !== null && code !== 'api_disabled')
      seen.outcomeUnknown = true;
    if (end.kind === 'fault' && end.row === 'local_defect') seen.undecidable = true;
    if (isOfOtherGoods(textOf(end))) seen.otherGoods = true;
    const outOfPlace =
      code !== null && end.kind === 'answer' && isOutOfPlace(end.http, code, call.path);
    if ((code !== null && unexpectedCodes.has(code)) || outOfPlace || isAboutOtherOrder(end))
      seen.undecidable = true;
  }

  /**
   * Whether a denial says nothing about other products: the last order of this one was denied, too,
   * and another order was accepted since.
   */
  #isDeniedAlone(body: string | null): boolean {
    const product = /"(?:variant|plan)":"[^"]+"/.exec(body ?? '')?.[0];
    if (product === undefined) return false;
    const beforeMs = this.#deniedProducts.get(product) ?? Number.POSITIVE_INFINITY;
    this.#deniedProducts.set(product, this.#nowMs());
    return this.#acceptedMs > beforeMs;
  }

  /** A call that left after a denial ended without another one. */
  #answeredWhileDenied(
    { call, leftAtMs, spends }: WireCall,
    end: CallEnd,
    code: string | null,
  ): void {
    if (!spends && !isProbe(call.path)) return;
    for (const scope of ['account', call.authorization]) {
      const denied = this.#denied.get(scope);
      if (denied === undefined || leftAtMs < denied.atMs) continue;
      if (letsIn(end, code)) this.#denied.delete(scope);
      else if (!spends) denied.unclear += 1;
    }
  }

  #lookedUp(path: string, end: CallEnd, cached: boolean): void {
    const [, family, key] = /^(\/esim)?\/orders\/(.+)$/.exec(path) ?? [];
    if (key === undefined) return;
    this.#looked.set(decodeURIComponent(key), this.#nowMs());
    const absences = this.#absences.get(decodeURIComponent(key)) ?? { row: 0, most: 0 };
    this.isKeyInQuestion ||=
      codeIn(end) === 'not_found' && this.#bought.has(decodeURIComponent(key));
    const row = codeIn(end) === 'not_found' ? absences.row + 1 : isOrder(end) ? 0 : absences.row;
    this.#absences.set(decodeURIComponent(key), { row, most: Math.max(row, absences.most) });
    const seen = this.seen.get(decodeURIComponent(key));
    if (seen !== undefined)
      Object.assign(seen, {
        lastMs: this.#nowMs(),
        learnedMs: this.#nowMs(),
        undecidable: seen.undecidable || isAboutOtherOrder(end),
      });
    if (cached || !isOrder(end) || isAboutOtherOrder(end)) return;
    const goods = /"(?:variant|plan)":"[^"]+"/.exec(seen?.body ?? '')?.[0];
    if (seen !== undefined && goods !== undefined && textOf(end).includes(goods))
      seen.otherGoods = false;
    // A lookup of an eSIM order proves nothing about lookups of top-ups; one of a top-up proves
    // both.
    const isTopup = seen?.path.endsWith('/topups') === true;
    const names =
      family === undefined ? ['gift_card'] : isTopup ? ['esim', 'esim_topup'] : ['esim'];
    for (const name of names)
      if (!this.#found.has(name)) this.#found.set(name, { atMs: this.#nowMs(), recorded: false });
  }

  /**
   * When the worker last got an answer about any of these references, also about one that was never
   * sent.
   */
  lastSeenMs(references: Iterable<string>): number {
    return Math.max(
      0,
      ...[...references].map((it) => this.#looked.get(it) ?? this.seen.get(it)?.lastMs ?? 0),
    );
  }

  /** How often in a row lookups of this reference ended with "not found", at most. */
  mostAbsences(reference: string): number {
    return this.#absences.get(reference)?.most ?? 0;
  }

  /** When the API last denied this key; null: never. */
  keyDeniedAt(authorization: string | null): number | null {
    return this.#keyDenials.get(authorization ?? '') ?? null;
  }

  /** Whether a lookup of this kind found an order before that time. */
  foundBefore(kind: LookedUp, atMs: number): boolean {
    return (this.#found.get(kind)?.atMs ?? Number.POSITIVE_INFINITY) < atMs;
  }

  /** Whether the worker has recorded that a lookup of this kind found an order. */
  trusts(kind: LookedUp): boolean {
    return this.#found.get(kind)?.recorded === true;
  }

  /**
   * The worker crashed. The outcome of its `open` calls is unknown, and it forgets what it had not
   * recorded.
   */
  crashed(process: SimProcess, open: readonly string[]): void {
    for (const [name, wire] of this.#live) if (wire.process === process) this.#live.delete(name);
    for (const subject of open)
      Object.assign(this.of(subject), { outcomeUnknown: true, otherGoods: false });
    this.calls.died();
    for (const [scope, denied] of this.#denied) if (!denied.recorded) this.#denied.delete(scope);
    for (const [family, found] of this.#found) if (!found.recorded) this.#found.delete(family);
  }

  /** The operator resumes the account or this key. */
  letIn(scope: string): void {
    this.#denied.delete(scope);
  }

  /** A copy of the outbox was made: what is recorded now is in it. */
  copied(): void {
    this.#foundInCopy = new Set(
      [...this.#found].filter(([, { recorded }]) => recorded).map(([kind]) => kind),
    );
  }

  /** The outbox is lost. What is not `sold` by now may be sent with another body. */
  forgotten(sold: (subject: string) => boolean): void {
    this.outboxLost = true;
    const known = this.#foundInCopy;
    for (const [subject, seen] of this.seen) seen.mayDiffer = !sold(subject);
    this.#denied.clear();
    for (const kind of this.#found.keys()) if (!known.has(kind)) this.#found.delete(kind);
    this.calls.forget();
  }

  /**
   * The worker has recorded that a lookup of this kind found an order; null: that it was denied.
   */
  recorded(kind: LookedUp | null): void {
    if (kind === null) this.calls.recorded();
    const found = kind === null ? undefined : this.#found.get(kind);
    if (found !== undefined) found.recorded = true;
    if (kind === null) for (const denied of this.#denied.values()) denied.recorded = true;
  }
}

/**
 * Whether the API itself answered, without a denial: also with the head of a catalogue that is not
 * read to its end.
 */
function letsIn(end: CallEnd, code: string | null): boolean {
  if (end.kind === 'fault') return end.http !== null && end.http < 300;
  if (end.http === 429 || end.http >= 500) return false;
  return code === null ? isOrder(end) : !accountWide.has(code) && !keyWide.has(code);
}

function iccidOf(call: { path: string }): string | null {
  return /^\/esim\/esims\/([^/]+)\//.exec(call.path)?.[1] ?? null;
}

const textOf = (end: CallEnd): string =>
  end.kind === 'answer' ? Buffer.from(end.body).toString('utf8') : '';

/** Whether an answer shows another product; the simulation marks such answers. */
const isOfOtherGoods = (text: string): boolean => /"(?:variant|plan)":"not-/.test(text);

/** Whether the answer is about another order; the simulation marks such answers. */
function isAboutOtherOrder(end: CallEnd): boolean {
  const text = textOf(end);
  return text.includes('"number":"X') || isOfOtherGoods(text);
}

function isOrder(end: CallEnd): boolean {
  if (end.kind !== 'answer' || end.http >= 300) return false;
  try {
    const value: unknown = JSON.parse(Buffer.from(end.body).toString('utf8'));
    return (
      typeof value === 'object' && value !== null && !Array.isArray(value) && !('error' in value)
    );
  } catch {
    return false;
  }
}

/** Codes that Spec 7 lists for another status, another family, or another kind of call. */
function isOutOfPlace(http: number, code: string, path: string): boolean {
  const buysGiftCards = path === '/orders';
  const cancels = path.endsWith('/cancel');
  if (http === 400) return true;
  if (code === 'not_found') return buysGiftCards;
  if (code === 'not_cancellable') return !cancels;
  if (['invalid_variant', 'out_of_stock', 'limit_exceeded', 'not_api_sellable'].includes(code))
    return !buysGiftCards;
  if (code === 'invalid_plan' || code === 'topup_not_allowed') return buysGiftCards || cancels;
  return cancels && (code === 'insufficient_balance' || code === 'currency_unavailable');
}
