import type { Database } from 'better-sqlite3';
import { lookedUpAs, type LookedUp } from '../../src/core/order/purchase.ts';
import type { AttemptClose, OpenAttempt } from '../../src/store/submission/attempt.ts';
import type { Invariant } from './invariants.ts';

/** How many entries must have shown what, before a scope is paused because of it. Written down a second time. */
const needed: Readonly<Record<string, { rows: readonly string[]; entries: number; ofFamily: number }>> = {
  insufficient_balance: { rows: ['insufficient_balance'], entries: 3, ofFamily: Number.POSITIVE_INFINITY },
  answer_mismatch: { rows: ['answer_mismatch'], entries: 1, ofFamily: 2 },
  unreadable_success: { rows: ['unreadable_success'], entries: 2, ofFamily: 3 },
  consecutive_rejections: {
    rows: ['invalid_request', 'not_found_unexpected', 'unlisted_code', 'code_out_of_place'],
    entries: 3,
    ofFamily: 5,
  },
  order_absent: { rows: ['not_found'], entries: 3, ofFamily: 4 },
  unread_fields: { rows: ['accepted'], entries: 1, ofFamily: 2 },
};

/** A product that was bought within this time speaks for its family. */
const boughtLatelyMs = 540_000;
/** The window of the budget. */
const windowMs = 60_000;
/** A 429 within this time after another one belongs to it. */
const rememberedMs = 600_000;
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
/** After so many calls of unknown outcome the absence is proven before the reference is sent again. */
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

interface Candidate {
  readonly reference: string;
  readonly lane: string;
  /** Infinity where it is not known. */
  readonly cost: number;
  readonly refused: 0 | 1;
}

/** Reads on what evidence a scope is paused, and which order is the trial of it, from the attempts on disk. */
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
  /** When an order of a family was accepted last, by the family and the run of the worker. */
  readonly #acceptedMono = new Map<string, number>();
  /** The first and the last 429 of a row of them, by the key and the run of the worker. */
  readonly #rateLimited = new Map<string, { firstMono: number; lastMono: number }>();
  /** Entries that a trusted lookup did not find since they were sent. */
  readonly #absent = new Set<number>();
  /** How many orders were sent while a lookup with a key of another account was due, by its reference. */
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

  proved(kind: LookedUp): void {
    this.#proven.add(kind);
  }

  /** A call has ended, and is on disk. */
  closed(close: AttemptClose, purpose: OpenAttempt['purpose'] | null, database: Database): void {
    const { attemptId, entryId, outcome, settlement } = close;
    const isUnclear = outcome.sent && !notProcessed.has(outcome.row);
    if (purpose === 'submit' && isUnclear && settlement.state === 'unknown' && settlement.outcomeUnknown)
      this.#unclear.set(entryId, (this.#unclear.get(entryId) ?? 0) + 1);
    this.#recordAccepted(close, purpose, database);
    if (outcome.row === 'rate_limited') this.#checkKey(close, database);
    if (this.#trusted.delete(attemptId) && outcome.row === 'not_found') this.#absent.add(entryId);
    for (const pause of pausesOf(database)) {
      const name = `${pause.scope} ${pause.sinceMs}`;
      if (this.#known.has(name)) continue;
      this.#known.add(name);
      this.#checkEvidence(pause, database);
      this.#checkProven(pause, close, database);
    }
  }

  #recordAccepted(close: AttemptClose, purpose: OpenAttempt['purpose'] | null, database: Database): void {
    // What was accepted and cannot be delivered proves nothing.
    const isAccepted = close.outcome.row === 'accepted' && close.settlement.state !== 'needs_review';
    if (purpose !== 'submit' || !isAccepted) return;
    const found = database
      .prepare<[number], { family: string; run: number }>(
        `SELECT CASE WHEN e.operation = 'gift_card_order' THEN 'family:gift_card' ELSE 'family:esim' END AS family,
           a.incarnation_id AS run FROM attempts a JOIN entries e ON e.id = a.entry_id
         WHERE a.id = ? AND coalesce(e.variant, e.plan) IS NOT NULL`,
      )
      .get(close.attemptId);
    if (found !== undefined) this.#acceptedMono.set(`${found.family} ${found.run}`, close.nowMono);
  }

  /** A key that gets 429s within its limits for longer than a window is used by somebody else, too. */
  #checkKey({ attemptId, nowMono }: AttemptClose, database: Database): void {
    const found = database
      .prepare<[number], { key: string; run: number; since: number | null }>(
        `SELECT a.key_name AS key, a.incarnation_id AS run, k.used_elsewhere_since_ms AS since
         FROM attempts a LEFT JOIN wholesale_keys k ON k.key_name = a.key_name WHERE a.id = ?`,
      )
      .get(attemptId);
    if (found === undefined) return;
    const name = `${found.key} ${found.run}`;
    const before = this.#rateLimited.get(name);
    const isNext = before !== undefined && nowMono - before.lastMono <= rememberedMs;
    const firstMono = isNext ? before.firstMono : nowMono;
    this.#rateLimited.set(name, { firstMono, lastMono: nowMono });
    if (nowMono - firstMono >= windowMs && found.since === null)
      this.#violate('I14', `the key ${found.key} got 429s for ${Math.round((nowMono - firstMono) / 1000)} s`);
  }

  /** Products that were never bought do not pause a family of which this run of the worker bought others. */
  #checkProven({ scope, reason }: WatchedPause, { attemptId, nowMono }: AttemptClose, database: Database): void {
    if (!scope.startsWith('family:') || reason !== 'order_absent') return;
    const run = database
      .prepare<[number], number>('SELECT incarnation_id FROM attempts WHERE id = ?')
      .pluck()
      .get(attemptId);
    const acceptedMono = this.#acceptedMono.get(`${scope} ${run}`) ?? Number.NEGATIVE_INFINITY;
    const bought = database
      .prepare<[string, string], number>(
        `SELECT count(*) FROM scope_evidence s JOIN entries e ON e.id = s.entry_id WHERE s.scope = ? AND s.reason = ?
         AND EXISTS (SELECT 1 FROM entries o JOIN attempts a ON a.entry_id = o.id
           WHERE coalesce(o.variant, o.plan) = coalesce(e.variant, e.plan) AND a.outcome = 'accepted')`,
      )
      .pluck()
      .get(scope, reason);
    if (bought === 0 && nowMono - acceptedMono < boughtLatelyMs)
      this.#violate('I38', `${scope} is paused because of products that were never bought, beside others that were`);
  }

  #checkEvidence({ scope, reason }: WatchedPause, database: Database): void {
    const rule = needed[reason];
    if (rule === undefined) return;
    if (scope === 'account') return this.#violate('I38', `the account is paused because of some orders (${reason})`);
    const isFamily = scope.startsWith('family:');
    // Where the answer to an order was lost, a lookup is the first to show its units.
    const purpose = reason === 'order_absent' ? 'lookup' : reason === 'unread_fields' ? '%' : 'submit';
    const { entries, products } = database
      .prepare<[string, string, string], { entries: number; products: number }>(
        `SELECT count(DISTINCT e.id) AS entries, count(DISTINCT coalesce(e.variant, e.plan)) AS products
         FROM attempts a JOIN entries e ON e.id = a.entry_id
         WHERE a.purpose LIKE ? AND a.outcome IN (SELECT value FROM json_each(?))
           AND ? IN ('variant:' || e.variant, 'plan:' || e.plan, 'balance:' || e.currency,
             CASE WHEN e.operation = 'gift_card_order' THEN 'family:gift_card' ELSE 'family:esim' END)`,
      )
      .get(purpose, JSON.stringify(rule.rows), scope) ?? {
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
    if (!wasAbsent || !entry.outcomeUnknown || entry.operation === 'esim_cancel' || entry.recoveryStage !== 'none')
      return;
    if ((this.#unclear.get(entry.id) ?? 0) >= callsBeforeProof && !this.#isTouched(entry.reference))
      this.#violate(
        'I39',
        `${entry.reference} is sent again with an unknown outcome, although a lookup proves it absent`,
      );
  }

  /** An order that a key of another account sent is looked up next, with that key, before many new orders are sent. */
  #checkSenders({ attemptId, openedAtMs }: OpenAttempt, database: Database): void {
    const left = database
      .prepare<[number, number], { reference: string; scope: string; step: string }>(
        `SELECT e.reference, p.scope, e.next_step AS step FROM pauses p JOIN attempts a ON 'key:' || a.key_name = p.scope
           JOIN entries e ON e.id = a.entry_id
         WHERE p.reason = 'key_of_other_account' AND e.state = 'unknown' AND e.iccid IS NULL AND e.due_at_ms <= ?
           AND a.key_name <> (SELECT key_name FROM attempts WHERE id = ?)
           AND a.number = (SELECT max(number) FROM attempts WHERE entry_id = e.id AND purpose = 'submit')`,
      )
      .all(openedAtMs, attemptId);
    const waited = left.map(({ reference }) => [reference, (this.#sentBefore.get(reference) ?? 0) + 1] as const);
    this.#sentBefore.clear();
    for (const [reference, sends] of waited) this.#sentBefore.set(reference, sends);
    const late = left.find(({ reference, step }) => step === 'send' || this.#sentBefore.get(reference) === sendsBefore);
    if (late !== undefined)
      this.#violate('I7', `${late.reference} is not looked up with ${late.scope}, which is of another account`);
  }

  #checkTrial({ trialOf, entry, openedAtMs, purpose }: OpenAttempt, database: Database): void {
    if (trialOf.length === 0) return;
    for (const pause of pausesOf(database).filter(({ scope }) => trialOf.includes(scope))) {
      if (pause.scope === 'account' && pause.probes < probesBeforeTrial)
        this.#violate('I37', `${entry.reference} is the trial of the account after ${pause.probes} probes`);
      const isDue = pause.probeAtMs !== null && pause.probeAtMs <= openedAtMs;
      if (pause.scope.startsWith('balance:') && isDue && purpose === 'submit' && !entry.outcomeUnknown)
        this.#checkChoice(entry.reference, pause, openedAtMs, database);
    }
  }

  /** The trial of a balance is by turns the cheapest known order, and one of unknown cost, else one that was not refused. */
  #checkChoice(reference: string, { scope, probes }: WatchedPause, openedAtMs: number, database: Database): void {
    const candidates = database
      .prepare<[{ reference: string; currency: string; openedAtMs: number }], Candidate>(choicesSql)
      .all({ reference, currency: scope.slice('balance:'.length), openedAtMs });
    const chosen = candidates.find((it) => it.reference === reference);
    if (chosen === undefined) return;
    const isOfUnknown = probes % 2 === 1;
    const rank = ({ cost, refused }: Candidate): readonly [number, number] =>
      isOfUnknown ? [cost === Number.POSITIVE_INFINITY ? 0 : 1 + refused, cost] : [cost, refused];
    const [first, second] = rank(chosen);
    const better = candidates.find((it) => {
      const [ofFirst, ofSecond] = rank(it);
      return ofFirst < first || (ofFirst === first && ofSecond < second);
    });
    if (better !== undefined)
      this.#violate('I37', `${reference} is the trial of ${scope}, although it is the turn of ${better.reference}`);
  }
}

/**
 * The order that is sent, as it was before, and the first due one of each other lane of its balance, if nothing else can
 * hold that up: no pause of its own, no open entry of its product, no two open orders of its family, which are the limit
 * until one was delivered, and for a product that was never bought, or that failed or was looked up, no other unknown
 * outcome, because they share few places.
 */
const choicesSql = `
  SELECT e.reference, e.lane, coalesce(c.unit_cost * coalesce(e.quantity, 1), 9e999) AS cost,
    e.outcome_row IS 'insufficient_balance' AS refused
  FROM entries e
  LEFT JOIN product_costs c ON c.currency = e.currency AND c.product = coalesce('variant:' || e.variant, 'plan:' || e.plan)
  WHERE e.currency = :currency AND e.iccid IS NULL AND e.not_after_ms IS NULL AND e.rules NOT LIKE '%fallback_currency%'
    AND (e.reference = :reference OR (
      e.state IN ('pending', 'waiting') AND e.due_at_ms <= :openedAtMs AND e.updated_at_ms < :openedAtMs
      AND NOT EXISTS (SELECT 1 FROM entries h WHERE h.lane = e.lane AND h.state = e.state AND h.id <> e.id
        AND (h.due_at_ms, h.id) < (e.due_at_ms, e.id))
      AND NOT EXISTS (SELECT 1 FROM entries o WHERE coalesce(o.variant, o.plan) = coalesce(e.variant, e.plan)
        AND o.state IN ('sending', 'unknown', 'placed'))
      AND (c.unit_cost IS NOT NULL AND NOT EXISTS (SELECT 1 FROM attempts a JOIN entries o ON o.id = a.entry_id
          WHERE coalesce(o.variant, o.plan) = coalesce(e.variant, e.plan)
            AND (a.purpose = 'lookup' OR a.outcome NOT IN ('accepted', 'insufficient_balance')))
        OR NOT EXISTS (SELECT 1 FROM entries o WHERE o.state IN ('sending', 'unknown') AND o.reference <> :reference))
      AND 2 > (SELECT count(*) FROM entries o WHERE (o.operation = 'gift_card_order') = (e.operation = 'gift_card_order')
        AND o.state IN ('sending', 'unknown', 'placed', 'needs_review') AND o.reference <> :reference)
      AND NOT EXISTS (SELECT 1 FROM pauses p WHERE p.scope IN ('variant:' || e.variant, 'plan:' || e.plan,
        CASE WHEN e.operation = 'gift_card_order' THEN 'family:gift_card' ELSE 'family:esim' END))))`;

function pausesOf(database: Database): readonly WatchedPause[] {
  return database
    .prepare<[], WatchedPause>(
      `SELECT scope, reason, since_ms AS sinceMs, probe_at_ms AS probeAtMs, probes FROM pauses WHERE opened_by = 'worker'`,
    )
    .all();
}
