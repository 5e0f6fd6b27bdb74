import { mayStart } from '../../core/scopes/exposure.ts';
import { scopesJudged } from '../../core/scopes/judge-call.ts';
import { keyScope, productScope, scopesOf, type EntryScopes } from '../../core/scopes/scope.ts';
import { columnOf, statementOf, type Sqlite } from '../sqlite/database.ts';
import type { Outbox } from '../sqlite/outbox.ts';
import { entryOf, type EntryRow } from '../sqlite/rows.ts';
import { lostOutboxMayHaveSent } from './after-loss.ts';
import { keyOfOtherAccount, otherSenderOf } from './account-keys.ts';
import type { AttemptClaim } from './attempt.ts';
import { connectorUnproven, mayOpenOrder } from './connector-canary.ts';
import { selectSendingLanes, selectToSendAgain, type DueEntries } from './due-entries.ts';
import { flagForReview, holdEntry, lookUpNext, recoverEntry } from './entry-changes.ts';
import { originOf } from './esim-origins.ts';
import { readLane } from './lanes.ts';
import { readExposure } from './open-calls.ts';
import { isLanePaused, isSendPaused, readPause, pausesWithout, type Pause, type PausedScopes } from './pauses.ts';
import { delayForRecheck } from './rechecks.ts';
import { productsAgainst } from './scope-evidence.ts';
import { whyHeldByShop } from './shop-holds.ts';

/** With more failed products that were bought before, the family itself is the likely cause: its trial is not sent early. */
const fewProducts = 5;
const refused = (row: EntryRow): number => (row.outcome_row === 'insufficient_balance' ? 1 : 0);

const allSound: NonNullable<AttemptClaim['products']> = {
  wasBought: () => true,
  isProven: () => true,
  isSound: () => true,
  isSuspect: () => false,
  lastPurchase: () => 1,
};

/** So many entries are held, or wait for their order to be read again, in one claim, which keeps it short; the next continues. */
const mostDelayed = 25;

// The last cost of a unit of each product, to choose the cheapest order as a trial. Never used to pay anything.
const putCost = statementOf<{ product: string; currency: string; unitCost: number }, never>(
  `INSERT INTO product_costs (product, currency, unit_cost) VALUES (:product, :currency, :unitCost)
   ON CONFLICT (product, currency) DO UPDATE SET unit_cost = excluded.unit_cost`,
);
const findCost = columnOf<[string, string], number>(
  'SELECT unit_cost FROM product_costs WHERE product = ? AND currency = ?',
);

/** Paused scopes that hold nothing up in this claim: a trial is due, or the canary counts the open orders itself. */
export function notHeldUp(pauses: readonly Pause[], { trials, step }: AttemptClaim): readonly string[] {
  // A key of another account looks up what was sent with it.
  const own = step === 'lookup' ? keyOfOtherAccount : connectorUnproven;
  const counted = pauses.filter(({ reason }) => reason === connectorUnproven || reason === own);
  return [...trials, ...counted.map(({ scope }) => scope)];
}

/** A lookup can be the trial of the account only: it says nothing about what a narrower scope sells. */
export function trialOf(row: EntryRow, { step, trials, openToOtherProducts = [] }: AttemptClaim): readonly string[] {
  const scopes = step === 'send' ? scopesJudged(scopesOf(row)) : ['account'];
  return scopes.filter((scope) => trials.includes(scope) || openToOtherProducts.includes(scope));
}

/** Remembers what an order cost. Called inside a transaction. */
export function rememberCost(database: Sqlite, row: EntryRow, cost: string): void {
  const [product, { currency }] = [productScope(row), row];
  const unitCost = Number(cost) / (row.quantity ?? 1);
  if (product !== null && currency !== null && Number.isFinite(unitCost))
    putCost(database).run({ product, currency, unitCost });
}

/** The last cost of such an order; a very large number where it is not known. */
function costOf(database: Sqlite, row: EntryRow): number {
  const [product, { currency }] = [productScope(row), row];
  const unitCost = product === null || currency === null ? undefined : findCost(database).get(product, currency);
  return Math.min((unitCost ?? Number.MAX_VALUE) * (row.quantity ?? 1), Number.MAX_VALUE);
}

/** The context of the search for the next entry. */
interface Search {
  readonly outbox: Outbox;
  readonly due: DueEntries;
  readonly claim: AttemptClaim;
  readonly paused: PausedScopes;
  /** The fingerprint of the key that it is sent with. */
  readonly fingerprint: string | null;
}

/**
 * Chooses the entry that a claim sends, inside its transaction: first one of unknown outcome, then a new one. Entries that
 * cannot be sent leave the queue on the way: they are held, looked up, flagged for review, or wait for their order to be
 * read again.
 */
export function findNextToSend(search: Search): EntryRow | null {
  const { claim } = search;
  const { database } = search.outbox;
  const again = nextToSendAgain(search);
  if (again !== null) return again;
  for (let delayed = 0; delayed < mostDelayed; delayed += 1) {
    const next = nextNew(search);
    if (next === null) return null;
    // What is held or delayed leaves the queue: those behind it do not wait for the next claim.
    if (isHeldByShop(search, next)) continue;
    // A lost outbox may have sent it: its outcome is unknown from now on. One at a time, because their number is limited.
    if (lostOutboxMayHaveSent(database, next)) {
      recoverEntry(database, next, claim.nowMs);
      return nextToSendAgain(search);
    }
    // The known state of a shop's order may be too old to buy by: then it waits until the order was read again.
    if (claim.rechecks === undefined || !delayForRecheck(database, next, claim.rechecks, claim.nowMs)) return next;
  }
  return null;
}

const senderGone =
  'the key that sent it is gone or buys nothing any more, and nobody knows whether the present one is of the same account: there it could be bought a second time';

/** The next entry of unknown outcome whose reference may be sent again; the others are looked up or flagged for review. */
function nextToSendAgain(search: Search): EntryRow | null {
  const { outbox, claim, paused, fingerprint } = search;
  const { nowMs } = claim;
  for (const row of selectToSendAgain(outbox.database).all({ nowMs })) {
    const otherSender = otherSenderOf(outbox.database, row.id, fingerprint);
    // Its key buys nothing any more: once it is proven absent there, any other key may send it.
    const isStopped = otherSender === 1 && paused.all.has(keyScope(row.key_name ?? ''));
    if (otherSender === 1 && !isStopped) continue;
    const isPaused = isStopped || isSendPaused(scopesOf(row), paused);
    // It still looks up what was sent with it.
    const sender = isStopped ? readPause(outbox.database, keyScope(row.key_name ?? '')) : null;
    const isSenderAsked = sender?.reason === keyOfOtherAccount;
    const verdict = claim.judgeResend(entryOf(outbox, row), originOf(outbox.database, row), isPaused, isSenderAsked);
    // It waits for the person who paused it, as all that is paused does.
    if (verdict.step === 'wait' && (sender?.openedBy ?? 'worker') !== 'worker') continue;
    if (otherSender !== null && (otherSender === 0 || verdict.step === 'wait'))
      flagForReview(outbox, row, senderGone, nowMs);
    else if (verdict.step === 'send' && !isHeldByShop(search, row)) return row;
    else if (verdict.step === 'lookup') lookUpNext(outbox.database, row, nowMs);
    else if (verdict.step === 'review') flagForReview(outbox, row, verdict.reason, nowMs);
  }
  return null;
}

/** The state of a shop's order counts at the moment of the claim, too: otherwise it is held, and not sent. */
function isHeldByShop({ outbox, claim }: Search, row: EntryRow): boolean {
  const why = whyHeldByShop(outbox.database, row);
  if (why !== null) holdEntry(outbox, row, { why, by: 'shop' }, claim.nowMs);
  return why !== null;
}

/** The next entry whose outcome is known, of a lane in which another call may be opened. */
function nextNew({ outbox: { database }, due, claim, paused }: Search): EntryRow | null {
  const { nowMs, maxUnknownOutcomes, trials, products = allSound } = claim;
  const early = openTrialsOf(database, claim);
  const exposure = readExposure(database, (product) => products.isSound(product));
  // The same for every lane of a family: asked once, however many lanes there are.
  const openable = new Map<string, boolean>();
  const mayOpen = (family: string): boolean => {
    const may = openable.get(family) ?? mayOpenOrder(database, family, nowMs);
    openable.set(family, may);
    return may;
  };
  return due.toSend(nowMs, {
    latestMs: claim.latestMs ?? nowMs,
    mayClaim: (lane) => {
      const { product, family } = lane;
      if (claim.rechecks?.maxAgeMs(lane.source) === -Infinity) return false;
      if (isLanePaused(lane, pausesWithout(paused, early(lane)))) return false;
      if (!mayStart(exposure, product, products, maxUnknownOutcomes)) return false;
      // A cancel delivers nothing, so it does not wait for the first delivered order.
      return product === null || mayOpen(family);
    },
    // The trial of a family goes to the product that was bought last: it tells most about the others.
    first: ({ family, product }) => (trials.includes(family) && product !== null ? products.lastPurchase(product) : 0),
    isLast: ({ product }) => product !== null && products.isSuspect(product),
    trialOfBalance: ({ balance }) =>
      balance !== null && trials.includes(balance) ? preferred(database, balance) : null,
  });
}

/**
 * The paused family and balance of a lane of which its order may be the trial now: few products failed there, and its own
 * is not one of them, so its call tells whether the scope or these products are the cause.
 */
function openTrialsOf(
  database: Sqlite,
  { openToOtherProducts = [], products = allSound }: AttemptClaim,
): (lane: EntryScopes) => readonly string[] {
  if (openToOtherProducts.length === 0) return () => [];
  // A call under way may answer that already.
  const sending = selectSendingLanes(database).all();
  const busy = sending.map((lane) => readLane(lane)).flatMap(({ family, balance }) => [family, balance]);
  const tried = openToOtherProducts.filter((scope) => !busy.includes(scope));
  const failedIn = new Map(tried.map((scope) => [scope, productsAgainst(database, scope)]));
  return ({ family, balance, product }) =>
    [family, balance].flatMap((scope) => {
      const failed = scope === null ? undefined : failedIn.get(scope);
      if (scope === null || product === null || failed === undefined || failed.has(product)) return [];
      // What was never bought says nothing against what was.
      const counted = products.isSound(product) ? [...failed].filter((it) => products.wasBought(it)) : [...failed];
      return counted.length < fewProducts ? [scope] : [];
    });
}

/**
 * Which order is the trial of an empty balance: by turns the cheapest known one, and one of unknown cost, else one that the
 * balance has not refused yet. So neither an unknown cost nor new dear orders keep what can be afforded from its turn.
 */
function preferred(database: Sqlite, balance: string): (a: EntryRow, b: EntryRow) => number {
  const cost = (row: EntryRow) => costOf(database, row);
  const turn = (row: EntryRow) => (cost(row) === Number.MAX_VALUE ? 0 : 1 + refused(row));
  return (readPause(database, balance)?.probes ?? 0) % 2 === 0
    ? (a, b) => cost(a) - cost(b) || refused(a) - refused(b)
    : (a, b) => turn(a) - turn(b) || cost(a) - cost(b);
}
