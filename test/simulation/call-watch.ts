import type { CallEnd } from '../../src/wholesale/transport/call-end.ts';
import type { WireCall } from './sim-network.ts';
import { productOf } from './troubles.ts';
import type { Invariant } from './invariants.ts';

/**
 * In one minute the worker asks no more questions that are only to find out whether the API
 * answers.
 */
const probesInMinute = 24;
/**
 * A product that showed another one gets no further order for so long, in ms: then one is tried.
 */
const quarantineMs = 240_000;
/** A call that was under way when the evidence came is sent within this time. */
const inFlightMs = 2000;
/**
 * The account is paused as unreachable after calls of so many different entries that the API did
 * not answer, or when one of them fails again and nothing of it leaves.
 */
const unansweredEntries = 3;

/**
 * What a worker does about an API that does not answer, or answers about something else, as it can
 * be seen on the wire alone: how many calls it takes before it pauses, how often it asks, and
 * whether it keeps buying.
 */
export class CallWatch {
  readonly #nowMs: () => number;
  readonly #violate: (invariant: Invariant, sentence: string) => void;
  readonly #probes: number[] = [];
  /** Products that showed another one, by when the worker saw it. */
  readonly #mismatched = new Map<string, { atMs: number; recorded: boolean }>();
  /** The entries of the last calls that the API did not answer. */
  readonly #unanswered = new Set<string>();
  /** One of them failed again, and nothing of it left. */
  #hasFailedAgain = false;
  /** A process died: what it had seen is not what the next one knows. */
  #hasDied = false;

  constructor(options: {
    nowMs: () => number;
    violate: (invariant: Invariant, sentence: string) => void;
  }) {
    this.#nowMs = options.nowMs;
    this.#violate = options.violate;
  }

  onLeaving({ call, spends }: WireCall): void {
    const product = spends ? productOf(call) : null;
    const mismatched = product === null ? undefined : this.#mismatched.get(product);
    const sinceMs =
      mismatched === undefined ? Number.POSITIVE_INFINITY : this.#nowMs() - mismatched.atMs;
    if (sinceMs > inFlightMs && sinceMs < quarantineMs)
      this.#violate(
        'I33',
        `${product} was ordered again ${Math.round(sinceMs / 1000)} s after it showed another product`,
      );
  }

  /** Also a question that never left counts. */
  onEnd({ call, spends, leftAtMs }: WireCall, end: CallEnd, subject: string): void {
    if (!spends && isProbe(call.path)) return this.#probed();
    const product = spends ? productOf(call) : null;
    const text = end.kind === 'answer' ? Buffer.from(end.body).toString('utf8') : '';
    // The order itself shows the right product: its answer was swapped.
    if (!spends && end.kind === 'answer' && end.http < 300)
      for (const shown of this.#mismatched.keys())
        if (text.includes(`"${shown}"`)) this.#mismatched.delete(shown);
    if (product !== null && text.includes(`"not-${product}"`))
      this.#mismatched.set(product, { atMs: this.#nowMs(), recorded: false });
    const kind = isCached(end, leftAtMs) ? 'unclear' : answeredBy(end, text);
    if (kind === 'api') {
      this.#unanswered.clear();
      this.#hasFailedAgain = false;
    }
    // A lookup may hang where orders are taken; that nothing reaches the API it can show, too.
    const hasNotLeft = end.kind === 'fault' && !end.sent;
    if (kind !== 'nobody' || (!spends && !hasNotLeft)) return;
    // A lookup of an order is another call for the same entry.
    const entry = /os-\w+/.exec(subject)?.[0] ?? subject;
    // A lookup for a cancel names the order of its eSIM, not the cancel.
    const mayBeOfCancel = !spends && [...this.#unanswered].some((it) => it.startsWith('cancel:'));
    if (hasNotLeft && (this.#unanswered.has(entry) || mayBeOfCancel)) this.#hasFailedAgain = true;
    this.#unanswered.add(entry);
  }

  #probed(): void {
    const nowMs = this.#nowMs();
    this.#probes.push(nowMs);
    while ((this.#probes[0] ?? nowMs) < nowMs - 60_000) this.#probes.shift();
    if (this.#probes.length > probesInMinute)
      this.#violate('I34', `${this.#probes.length} probes were made within a minute`);
  }

  /** The account is paused now because the API is unreachable. */
  pausedAsUnreachable(): void {
    if (this.#hasDied || this.#hasFailedAgain || this.#unanswered.size >= unansweredEntries) return;
    this.#violate(
      'I35',
      `the account is paused after unanswered calls of ${this.#unanswered.size} entries`,
    );
  }

  /**
   * The wall clock was set forward, perhaps while no worker ran: what waits is due at once then.
   */
  clockSetForward(): void {
    this.#mismatched.clear();
  }

  /** The worker has recorded what it saw. */
  recorded(): void {
    for (const mismatched of this.#mismatched.values()) mismatched.recorded = true;
  }

  died(): void {
    this.#hasDied = true;
    for (const [product, { recorded }] of this.#mismatched)
      if (!recorded) this.#mismatched.delete(product);
  }

  forget(): void {
    this.#hasDied = true;
    this.#mismatched.clear();
  }
}

/** A probe reads `/products`, or looks up a reference that was never sold. */
export function isProbe(path: string): boolean {
  return path === '/products' || /^(\/esim)?\/orders\/probe-/.test(path);
}

const nobody: ReadonlySet<string> = new Set([
  'unreachable',
  'proxy_refused',
  'dropped',
  'headers_timeout',
  'deadline',
]);

/**
 * Whether a cache answered, by its header or by the time of the answer: that says nothing about the
 * API.
 */
export function isCached({ headers }: CallEnd, leftAtMs: number): boolean {
  const { age, date = '', 'x-cache': cache } = headers;
  return age !== undefined || cache !== undefined || leftAtMs - Date.parse(date) > 5000;
}

/** Who answered: the API, something before it, or nobody. The worker's own failures say nothing. */
function answeredBy(end: CallEnd, text: string): 'api' | 'nobody' | 'unclear' {
  if (end.kind === 'fault')
    return end.http === null ? (nobody.has(end.row) ? 'nobody' : 'unclear') : 'api';
  const isForeign = end.http >= 400 && end.http !== 429 && !text.startsWith('{"error":{"code":"');
  return isForeign ? 'nobody' : 'api';
}
