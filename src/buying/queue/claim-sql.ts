import { steadyOf } from '../../core/clock.ts';
import { isReplacementSought } from '../../core/entry/after-loss.ts';
import { canTransition } from '../../core/entry/states.ts';
import { messageOf } from '../../core/message-text.ts';
import { assert } from '../../core/order-sync-error.ts';
import { keyFingerprint } from '../../core/order/reference.ts';
import { scopesJudged, scopesOf } from '../../core/order/scope.ts';
import { connectorUnproven, fullFamilies } from '../../store/entries/connector-canary.ts';
import {
  flagForReview,
  holdEntry,
  lookUpNext,
  recoverEntry,
} from '../../store/entries/entry-changes.ts';
import { findSource, originOf, whyForeign } from '../../store/entries/esim-origins.ts';
import { readExposure } from '../../store/entries/open-calls.ts';
import {
  keyOfOtherAccount,
  pausesBut,
  readPauses,
  type Pause,
  type PausedScopes,
} from '../../store/entries/pauses.ts';
import { delayForRecheck } from '../../store/entries/rechecks.ts';
import { replacementOf } from '../../store/entries/replacements.ts';
import { otherSenderOf } from '../../store/entries/sender-keys.ts';
import { inTransaction, statementOf, type Sqlite } from '../../store/sqlite/database.ts';
import type { Outbox } from '../../store/sqlite/outbox.ts';
import { entryOf, type Entry, type EntryRow } from '../../store/sqlite/rows.ts';
import { writeMark } from '../../store/sqlite/steady-time.ts';
import { takeSlotsOfAttempt } from '../budget/budget-sql.ts';
import { judgeNew, judgeUnknown, type LaneRules, type ResendRules, type Step } from './choose.ts';
import type { ProductStates } from '../breakers/products.ts';
import type { SpendLimit } from '../spending/settings.ts';
import type { Room } from '../spending/limits.ts';
import { roomNow, spendingOf } from '../spending/spending-sql.ts';
import { newFactsOf, unknownFactsOf, type Queue } from './queue-sql.ts';
import type { RenderedCall } from '../../wholesale/connector/render-request.ts';

/**
 * The parts of a claim. Its functions are asked before the transaction begins, and told after it is
 * on disk.
 */
export interface AttemptClaim {
  readonly step: 'send' | 'lookup';
  readonly keyName: string;
  /** The value of the key. Absent: nobody asks which account it is of. */
  readonly keyValue?: string;
  readonly nowMs: number;
  /** The latest time that it may be now: nothing is sent whose deadline may have passed. */
  readonly latestMs: number;
  /** Due times are compared with it. */
  readonly steadyMs: number;
  /**
   * Unknown outcomes and spending calls under way, in all: nothing new is opened while there are so
   * many.
   */
  readonly maxUnknownOutcomes: number;
  readonly products: ProductStates;
  /** The paused scopes whose trial order may be sent now. */
  readonly trials: readonly string[];
  /** See `LaneRules.maxAgeMs`. */
  readonly maxAgeMs: LaneRules['maxAgeMs'];
  readonly spendLimits: readonly SpendLimit[];
  /** Renders the request of an entry that was never sent; stored with the attempt. */
  readonly render: (entry: Entry) => RenderedCall;
  readonly resend: ResendRules;
  /** Entries that are not called now have changed. */
  readonly onSetAside: (aside: readonly SetAside[]) => void;
}

export interface OpenAttempt {
  readonly attemptId: number;
  readonly purpose: 'submit' | 'lookup';
  /** The entry as it was before the attempt. */
  readonly entry: Entry;
  readonly request: RenderedCall | null;
  /** The order that an eSIM came from, for a lookup of a cancel. */
  readonly originReference: string | null;
  /** That of what takes the place of the entry, where that is looked up. */
  readonly replacementReference: string | null;
  /**
   * The key may be of another account than the one that sent the entry: "not found" proves nothing.
   */
  readonly mayBeOtherAccount?: boolean;
  readonly trialOf: readonly string[];
}

/** A candidate that is not called now, and leaves the queue. */
export interface SetAside {
  readonly row: EntryRow;
  readonly step: Exclude<Step, { step: 'send' | 'skip' }>;
}

/** So many entries are set aside in one claim, which keeps it short; the next one continues. */
const mostSetAside = 25;

const insertAttempt = statementOf<Record<string, unknown>, never>(
  `INSERT INTO attempts (entry_id, number, purpose, key_name, key_fingerprint, opened_at_ms)
   VALUES (:entryId, (SELECT coalesce(max(number), 0) + 1 FROM attempts WHERE entry_id = :entryId), :purpose, :keyName,
           :fingerprint, :nowMs)`,
);
const updateSending = statementOf<Record<string, unknown>, never>(
  `UPDATE entries SET state = 'sending', due_steady = :steadyMs, key_name = :keyName, last_sent_at_ms = :nowMs, updated_at_ms = :nowMs,
                      due_before_recheck_steady = NULL, reserved = coalesce(reserved, :reserved),
                      request_method = :method, request_path = :path, request_body = :body, request_headers = :headers
   WHERE id = :id AND state = :from`,
);

interface Claiming {
  readonly claim: AttemptClaim;
  readonly queue: Queue;
  readonly pauses: readonly Pause[];
  readonly paused: PausedScopes;
  readonly fingerprint: string | null;
}

interface Chosen {
  readonly row: EntryRow | null;
  readonly aside: readonly SetAside[];
}

/**
 * Chooses the entry that is due next, and claims it with its attempt and the slots of its budget in
 * one transaction. All that is read for the choice is read at once, without a wait: nobody writes
 * between it and the claim.
 */
export function openAttempt(outbox: Outbox, queue: Queue, claim: AttemptClaim): OpenAttempt | null {
  const { database } = outbox;
  const pauses = readPauses(database);
  const paused = pausesBut(pauses, [...claim.trials, ...notHoldingUp(pauses, claim)]);
  if (paused.account || paused.keys.includes(claim.keyName)) return null;
  const fingerprint =
    claim.keyValue === undefined ? null : keyFingerprint(outbox.namespace, claim.keyValue);
  const claiming = { claim, queue, pauses, paused, fingerprint };
  const isSend = claim.step === 'send';
  const chosen = isSend
    ? chooseToSend(database, claiming)
    : { row: queue.toLookUp(claim.steadyMs, fingerprint), aside: [] };
  const { row, request, aside } = isSend
    ? rendered(outbox, chosen, claim)
    : { ...chosen, request: null };
  if (row === null && aside.length === 0) return null;
  const attempt = inTransaction(database, () => {
    writeMark(database, outbox.clock);
    for (const each of aside) setAside(outbox, each, claim);
    return row === null ? null : claimEntry(outbox, row, request, claiming);
  });
  if (aside.length > 0) claim.onSetAside(aside);
  // An entry that is looked up first, or sent again, counts as an unknown outcome now.
  const isRecovering = aside.some(({ step }) => step.step === 'recover');
  return attempt === null && isRecovering ? openAttempt(outbox, queue, claim) : attempt;
}

/** Paused scopes that hold nothing up in a claim: the canary counts the open orders itself. */
function notHoldingUp(pauses: readonly Pause[], { step }: AttemptClaim): readonly string[] {
  // A key of another account looks up what was sent with it.
  const own = step === 'lookup' ? keyOfOtherAccount : connectorUnproven;
  return pauses
    .filter(({ reason }) => reason === connectorUnproven || reason === own)
    .map(({ scope }) => scope);
}

/** First what was sent before, then what is new. */
function chooseToSend(database: Sqlite, claiming: Claiming): Chosen {
  const { claim, queue, pauses } = claiming;
  const { nowMs, steadyMs, latestMs, resend } = claim;
  const aside: SetAside[] = [];
  const room = roomNow(database, claim.spendLimits, steadyMs);
  for (const row of queue.toSendAgain(steadyMs)) {
    const facts = unknownFactsOf(database, row, claiming);
    const notAfterMs = steadyOf(row.not_after_ms, { wallMs: latestMs, steadyMs });
    const step = withinLimits(
      database,
      row,
      judgeUnknown({ ...facts, notAfterMs }, resend, steadyMs),
      room,
    );
    if (step.step === 'send') return { row, aside };
    if (step.step !== 'skip') aside.push({ row, step });
  }
  const probesOf = (scope: string): number =>
    pauses.find((pause) => pause.scope === scope)?.probes ?? 0;
  const rules: LaneRules = {
    paused: claiming.paused,
    trials: new Map(claim.trials.map((scope) => [scope, probesOf(scope)])),
    exposure: readExposure(database),
    maxUnknownOutcomes: claim.maxUnknownOutcomes,
    products: claim.products,
    fullFamilies: new Set([...fullFamilies(database).keys()].map((family) => `family:${family}`)),
    maxAgeMs: claim.maxAgeMs,
  };
  const { fingerprint } = claiming;
  while (aside.length < mostSetAside) {
    const except = aside.map(({ row }) => row.id);
    const row = queue.toSend({ steadyMs, latestMs, fingerprint, except }, rules);
    if (row === null) break;
    const judged = judgeNew(newFactsOf(database, row, claiming), rules, nowMs);
    const step = withinLimits(database, row, judged, room);
    if (step.step === 'send') return { row, aside };
    aside.push({ row, step });
    // The outcome of one more is unknown now: the next claim counts it.
    if (step.step === 'recover') break;
  }
  return { row: null, aside };
}

/** An entry that an operator released is over no limit, nor is one whose cost is reserved already. */
function withinLimits<Judged extends Step>(
  database: Sqlite,
  row: EntryRow,
  step: Judged,
  room: Room,
): Judged | (Step & { step: 'over_limit' }) {
  const isFree = row.operation === 'esim_cancel' || row.limit_lifted === 1;
  if (step.step !== 'send' || isFree || row.reserved !== null) return step;
  const over = room.over(spendingOf(database, row));
  return over === null ? step : { step: 'over_limit', ...over };
}

/**
 * An entry whose request cannot be rendered is never sent, and must not stop the others; nor is the
 * cancel of an eSIM that another source bought meanwhile.
 */
function rendered(
  outbox: Outbox,
  { row, aside }: Chosen,
  claim: AttemptClaim,
): Chosen & { request: RenderedCall | null } {
  if (row === null) return { row, aside, request: null };
  const refused = (reason: string) => {
    const step = { step: 'review', reason } as const;
    return { row: null, aside: [...aside, { row, step }], request: null };
  };
  const source = findSource(outbox.database).get(row.line_id) ?? '';
  const foreign = whyForeign(outbox.database, { ...row, source }, false);
  if (foreign !== null) return refused(`iccid ${foreign}`);
  try {
    return { row, aside, request: requestOf(outbox, row, claim) };
  } catch (error) {
    const why = messageOf(error);
    return refused(`the request of the line could not be rendered: ${why}`);
  }
}

/**
 * A request that was sent once is sent again to the byte; only that of an entry that was never sent
 * is rendered.
 */
function requestOf(outbox: Outbox, row: EntryRow, claim: AttemptClaim): RenderedCall {
  if (row.request_method === null || row.request_path === null)
    return claim.render(entryOf(outbox, row));
  const headers: Readonly<Record<string, string>> = JSON.parse(row.request_headers ?? '{}');
  return { method: row.request_method, path: row.request_path, body: row.request_body, headers };
}

/** Called inside a transaction. */
function setAside(
  outbox: Outbox,
  { row, step }: SetAside,
  { nowMs, steadyMs }: AttemptClaim,
): void {
  switch (step.step) {
    case 'hold':
      return holdEntry(outbox, row, { why: step.why, by: 'shop' }, nowMs);
    case 'over_limit':
      return holdEntry(outbox, row, { why: step.why, by: 'limit', limit: step.limit }, nowMs);
    case 'recover':
      return recoverEntry(outbox.database, row, step.isAfterLoss, nowMs);
    case 'recheck':
      return delayForRecheck(outbox.database, row, step, { nowMs, steadyMs });
    case 'lookup':
      return lookUpNext(outbox.database, row, nowMs);
    case 'review':
      return flagForReview(outbox, row, step.reason, nowMs);
  }
}

/** Called inside a transaction. */
function claimEntry(
  outbox: Outbox,
  row: EntryRow,
  request: RenderedCall | null,
  claiming: Claiming,
): OpenAttempt {
  const { database } = outbox;
  const { claim, fingerprint } = claiming;
  const { keyName, nowMs, step, trials } = claim;
  const isSend = step === 'send';
  const purpose = isSend ? 'submit' : 'lookup';
  const opened = { entryId: row.id, purpose, keyName, fingerprint, nowMs };
  const attemptId = Number(insertAttempt(database).run(opened).lastInsertRowid);
  const entry = entryOf(outbox, row);
  if (request !== null) startSending(database, row, request, claim);
  takeSlotsOfAttempt(database, attemptId, claim);
  // A lookup can be the trial of the account only: it says nothing about what a narrower scope
  // sells.
  const tried = isSend ? scopesJudged(scopesOf(row)) : ['account'];
  return {
    attemptId,
    purpose,
    entry,
    request,
    originReference: originOf(database, row),
    replacementReference: isReplacementSought(entry) ? replacementOf(outbox, row) : null,
    mayBeOtherAccount: !isSend && otherSenderOf(database, row.id, fingerprint) !== null,
    trialOf: tried.filter((scope) => trials.includes(scope)),
  };
}

function startSending(
  database: Sqlite,
  row: EntryRow,
  request: RenderedCall,
  claim: AttemptClaim,
): void {
  assert(
    canTransition(row.state, 'sending'),
    `${row.reference} may be sent from the state ${row.state}`,
  );
  const { keyName, nowMs, steadyMs } = claim;
  const { headers: given = {} } = request;
  const headers = Object.keys(given).length === 0 ? null : JSON.stringify(given);
  const { changes } = updateSending(database).run({
    ...request,
    headers,
    id: row.id,
    from: row.state,
    keyName,
    nowMs,
    steadyMs,
    reserved: row.operation === 'esim_cancel' ? null : (spendingOf(database, row).expected ?? 0),
  });
  assert(changes === 1, `${row.reference} is claimed once`);
}
