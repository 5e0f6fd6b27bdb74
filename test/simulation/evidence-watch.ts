import type { Database } from 'better-sqlite3';
import { lookedUpAs, type LookedUp } from '../../src/core/order/purchase.ts';
import type { AttemptClose } from '../../src/buying/commit-sql.ts';
import { timeOf } from './exposure-watch.ts';
import type { OpenAttempt } from '../../src/buying/queue/claim-sql.ts';
import type { Invariant } from './invariants.ts';

/**
 * How many entries must have shown what, before a scope is paused because of it. Written down a
 * second time.
 */
const needed: Readonly<
  Record<string, { rows: readonly string[]; entries: number; ofFamily: number }>
> = {
  insufficient_balance: {
    rows: ['insufficient_balance'],
    entries: 3,
    ofFamily: Number.POSITIVE_INFINITY,
  },
  answer_mismatch: { rows: ['answer_mismatch'], entries: 1, ofFamily: 2 },
  unreadable_success: {
    rows: ['unreadable_success'],
    entries: 2,
    ofFamily: Number.POSITIVE_INFINITY,
  },
  consecutive_rejections: {
    rows: ['invalid_request', 'not_found_unexpected', 'unlisted_code', 'code_out_of_place'],
    entries: 3,
    ofFamily: Number.POSITIVE_INFINITY,
  },
  product_refused: {
    rows: ['order_refused', 'invalid_variant', 'not_api_sellable', 'plan_unknown', 'not_found'],
    entries: 3,
    ofFamily: Number.POSITIVE_INFINITY,
  },
  order_absent: { rows: ['not_found'], entries: 3, ofFamily: Number.POSITIVE_INFINITY },
  unread_fields: { rows: ['accepted'], entries: 1, ofFamily: 2 },
  product_denied: {
    rows: ['invalid_key', 'account_not_allowed', 'ip_not_allowed'],
    entries: 1,
    ofFamily: Number.POSITIVE_INFINITY,
  },
};

/** The window of the budget. */
const windowMs = 60_000;
/** So many probes of the account cannot tell before an order is the question. */
const probesBeforeTrial = 3;
/** Answers which say that the call was not processed, whatever was known before it. */
const notProcessed: ReadonlySet<string> = new Set([
  'invalid_key',
  'account_not_allowed',
  'ip_not_allowed',
  'rate_limited',
  'api_disabled',
]);
/**
 * After so many calls of unknown outcome the absence is proven before the reference is sent again.
 */
const callsBeforeProof = 3;

/** So many new orders may be sent before a lookup that is due. */
const sendsBefore = 20;

interface WatchedPause {
  readonly scope: string;
  readonly reason: string;
  readonly sinceMs: number;
  readonly probeAtMs: number | null;
  readonly probes: number;
}

/**
 * Reads on what evidence a scope is paused, and which order is the trial of it, from the attempts
 * on disk.
 */
export class EvidenceWatch {
  readonly #violate: (invariant: Invariant, sentence: string) => void;
  readonly #isTouched: (reference: string) => boolean;
  readonly #known = new Set<string>();
  /** The kinds of which a lookup has found an order, as the worker recorded it. */
  readonly #proven = new Set<LookedUp>();
  /** Lookups of kinds that were proven before they were made. */
  readonly #trusted = new Set<number>();
  /** How many calls of each entry left and ended without a clear answer. */
  readonly #unclear = new Map<number, number>();
  /** The first and the last 429 of a row of them, by the key and the run of the worker. */
  readonly #rateLimited = new Map<string, { firstMs: number; lastMs: number }>();
  /** Entries that a trusted lookup did not find since they were sent. */
  readonly #absent = new Set<number>();
  /**
   * How many orders were sent while a lookup with a key of another account was due, by its
   * reference.
   */
  readonly #sentBefore = new Map<string, number>();

  constructor(options: {
    violate: (invariant: Invariant, sentence: string) => void;
    isTouched: (reference: string) => boolean;
  }) {
    this.#violate = options.violate;
    this.#isTouched = options.isTouched;
  }

  /** The outbox is a new one. */
  forget(): void {
    this.#known.clear();
    this.#proven.clear();
    this.#trusted.clear();
    this.#absent.clear();
    this.#unclear.clear();
    this.#rateLimited.clear();
    this.#sentBefore.clear();
  }

  /** A process begins, which does not know how long a key was rate-limited. */
  restarted(): void {
    this.#rateLimited.clear();
  }

  proved(kind: LookedUp): void {
    this.#proven.add(kind);
  }

  /** A call has ended, and is on disk. */
  closed(close: AttemptClose, purpose: OpenAttempt['purpose'] | null, database: Database): void {
    const { attemptId, entryId, outcome, settlement } = close;
    const isUnclear = outcome.sent && !notProcessed.has(outcome.row);
    if (
      purpose === 'submit' &&
      isUnclear &&
      settlement.state === 'unknown' &&
      settlement.outcomeUnknown
    )
      this.#unclear.set(entryId, (this.#unclear.get(entryId) ?? 0) + 1);
    if (outcome.row === 'rate_limited') this.#checkKey(close, database);
    if (this.#trusted.delete(attemptId) && outcome.row === 'not_found') this.#absent.add(entryId);
    for (const pause of pausesOf(database)) {
      const name = `${pause.scope} ${pause.sinceMs}`;
      if (this.#known.has(name)) continue;
      this.#known.add(name);
      this.#checkEvidence(pause, database);
    }
  }

  /**
   * A key that gets 429s within its limits for longer than a window, each within a window of the one
   * before, is used by somebody else, too.
   */
  #checkKey({ attemptId, steadyMs }: AttemptClose, database: Database): void {
    const found = database
      .prepare<[number], { key: string; since: number | null }>(
        `SELECT a.key_name AS key, k.used_elsewhere_since_ms AS since
         FROM attempts a LEFT JOIN wholesale_keys k ON k.key_name = a.key_name WHERE a.id = ?`,
      )
      .get(attemptId);
    if (found === undefined) return;
    const before = this.#rateLimited.get(found.key);
    const isNext = before !== undefined && steadyMs - before.lastMs <= windowMs;
    const firstMs = isNext ? before.firstMs : steadyMs;
    this.#rateLimited.set(found.key, { firstMs, lastMs: steadyMs });
    if (steadyMs - firstMs >= windowMs && found.since === null)
      this.#violate(
        'I14',
        `the key ${found.key} got 429s for ${Math.round((steadyMs - firstMs) / 1000)} s`,
      );
  }

  #checkEvidence({ scope, reason }: WatchedPause, database: Database): void {
    const rule = needed[reason];
    if (rule === undefined) return;
    if (scope === 'account')
      return this.#violate('I38', `the account is paused because of some orders (${reason})`);
    const isFamily = scope.startsWith('family:');
    // Where the answer to an order was lost, a lookup is the first to show its units.
    const purpose =
      reason === 'order_absent' ? 'lookup' : reason === 'unread_fields' ? '%' : 'submit';
    const { entries, products } = database
      .prepare<[string, string, string, string], { entries: number; products: number }>(
        `SELECT count(DISTINCT e.id) AS entries, count(DISTINCT coalesce(e.variant, e.plan)) AS products
         FROM attempts a JOIN entries e ON e.id = a.entry_id
         WHERE a.purpose LIKE ? AND (? <> 'product_refused' OR e.state = 'rejected') AND a.outcome IN (SELECT value FROM json_each(?))
           AND ? IN ('variant:' || e.variant, 'plan:' || e.plan, 'balance:' || e.currency,
             CASE WHEN e.operation = 'gift_card_order' THEN 'family:gift_card' ELSE 'family:esim' END)`,
      )
      .get(purpose, reason, JSON.stringify(rule.rows), scope) ?? {
      entries: 0,
      products: 0,
    };
    if (entries < (isFamily ? rule.ofFamily : rule.entries) || (isFamily && products < 2))
      this.#violate(
        'I38',
        `${scope} is paused (${reason}) because of ${entries} entries of ${products} products: too few`,
      );
  }

  /** A call begins: its attempt is on disk. */
  opened(attempt: OpenAttempt, database: Database): void {
    const { attemptId, purpose, entry } = attempt;
    this.#checkTrial(attempt, database);
    if (purpose === 'lookup') {
      if (this.#proven.has(lookedUpAs(entry.operation))) this.#trusted.add(attemptId);
      return;
    }
    if (!entry.outcomeUnknown) this.#checkSenders(attempt, database);
    const wasAbsent = this.#absent.delete(entry.id);
    if (
      !wasAbsent ||
      !entry.outcomeUnknown ||
      entry.operation === 'esim_cancel' ||
      entry.askedAfterLoss !== null
    )
      return;
    if ((this.#unclear.get(entry.id) ?? 0) >= callsBeforeProof && !this.#isTouched(entry.reference))
      this.#violate(
        'I39',
        `${entry.reference} is sent again with an unknown outcome, although a lookup proves it absent`,
      );
  }

  /**
   * An order that a key of another account sent is looked up next, with that key, before many new
   * orders are sent.
   */
  #checkSenders({ attemptId }: OpenAttempt, database: Database): void {
    const left = database
      .prepare<[number, number], { reference: string; scope: string; step: string }>(
        `SELECT e.reference, p.scope, e.next_step AS step FROM pauses p JOIN attempts a ON 'key:' || a.key_name = p.scope
           JOIN entries e ON e.id = a.entry_id
         WHERE p.reason = 'key_of_other_account' AND e.state = 'unknown' AND e.iccid IS NULL AND e.due_steady <= ?
           AND a.key_name <> (SELECT key_name FROM attempts WHERE id = ?)
           AND a.number = (SELECT max(number) FROM attempts WHERE entry_id = e.id AND purpose = 'submit')`,
      )
      .all(timeOf(database).steadyMs, attemptId);
    const waited = left.map(
      ({ reference }) => [reference, (this.#sentBefore.get(reference) ?? 0) + 1] as const,
    );
    this.#sentBefore.clear();
    for (const [reference, sends] of waited) this.#sentBefore.set(reference, sends);
    const late = left.find(
      ({ reference, step }) => step === 'send' || this.#sentBefore.get(reference) === sendsBefore,
    );
    if (late !== undefined)
      this.#violate(
        'I7',
        `${late.reference} is not looked up with ${late.scope}, which is of another account`,
      );
  }

  #checkTrial({ trialOf, entry, purpose }: OpenAttempt, database: Database): void {
    if (trialOf.length === 0) return;
    for (const pause of pausesOf(database).filter(({ scope }) => trialOf.includes(scope))) {
      if (pause.scope === 'account' && pause.probes < probesBeforeTrial)
        this.#violate(
          'I37',
          `${entry.reference} is the trial of the account after ${pause.probes} probes`,
        );
      const isDue = pause.probeAtMs !== null && pause.probeAtMs <= timeOf(database).steadyMs;
      if (
        pause.scope.startsWith('balance:') &&
        isDue &&
        purpose === 'submit' &&
        !entry.outcomeUnknown
      )
        this.#checkChoice(entry, pause, database);
    }
  }

  /** The trial of a balance takes turns: one that was not refused yet, then one that waits. */
  #checkChoice(
    entry: OpenAttempt['entry'],
    { scope, probes }: WatchedPause,
    database: Database,
  ): void {
    const { reference, state } = entry;
    const wanted = probes % 2 === 1 ? 'waiting' : 'pending';
    // A product of which an order waits counts as refused.
    if (state === wanted || wanted === 'waiting') return;
    const better = database
      .prepare<[Readonly<Record<string, string | number>>], string>(choicesSql)
      .pluck()
      .get({ reference, wanted, currency: scope.slice('balance:'.length), ...timeOf(database) });
    if (better !== undefined)
      this.#violate(
        'I37',
        `${reference} is the trial of ${scope}, although it is the turn of ${better}`,
      );
  }
}

/**
 * An order of the balance that could be its trial instead: due, the first of its lane, and held up
 * by nothing. No pause is of its own, no call is under way and no other outcome is unknown, because
 * products that were never bought share few places, and fewer than two orders of its family are
 * open, which is the limit until one was delivered.
 */
const choicesSql = `
  SELECT e.reference FROM entries e
  WHERE e.currency = :currency AND e.iccid IS NULL AND e.not_after_ms IS NULL AND e.rules NOT LIKE '%fallback_currency%'
    AND e.state = :wanted AND e.due_steady <= :steadyMs AND e.updated_at_ms < :wallMs
    AND NOT EXISTS (SELECT 1 FROM entries h WHERE h.lane = e.lane AND h.state = 'waiting')
    -- The one that is sent waited in its own lane.
    AND e.lane <> (SELECT lane FROM entries WHERE reference = :reference)
    AND NOT EXISTS (SELECT 1 FROM entries h WHERE h.lane = e.lane AND h.state = e.state AND h.id <> e.id
      AND (h.due_steady, h.id) < (e.due_steady, e.id))
    AND NOT EXISTS (SELECT 1 FROM entries o WHERE o.state IN ('sending', 'unknown') AND o.reference <> :reference)
    AND 2 > (SELECT count(*) FROM entries o WHERE (o.operation = 'gift_card_order') = (e.operation = 'gift_card_order')
      AND o.state IN ('sending', 'unknown', 'placed', 'needs_review') AND o.reference <> :reference)
    AND NOT EXISTS (SELECT 1 FROM pauses p WHERE p.scope IN ('variant:' || e.variant, 'plan:' || e.plan,
      CASE WHEN e.operation = 'gift_card_order' THEN 'family:gift_card' ELSE 'family:esim' END)) LIMIT 1`;

function pausesOf(database: Database): readonly WatchedPause[] {
  return database
    .prepare<[], WatchedPause>(
      `SELECT scope, reason, since_ms AS sinceMs, probe_steady AS probeAtMs, probes FROM pauses WHERE opened_by = 'worker'`,
    )
    .all();
}
