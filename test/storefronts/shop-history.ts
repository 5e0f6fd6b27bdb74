import { stepsOf } from '../support/steps.ts';
import fc from 'fast-check';
import type { EntryAction } from '../../src/core/operator/operator-decision.ts';
import { hasCode } from '../../src/core/order-sync-error.ts';
import { close, emptyBalance, fulfilled, nothing } from '../support/outbox.ts';
import type { OpenAttempt } from '../../src/buying/queue/claim-sql.ts';
import type { EntryNow, HistoryOutbox } from './history-outbox.ts';
import { numbersAsText } from './read-back/running-read-back.ts';
import { Staff, type Version } from './shop-staff.ts';

const statuses = [
  'pending',
  'processing',
  'completed',
  'on-hold',
  'fraud-check',
  'cancelled',
  'trash',
] as const;
const paid: readonly string[] = ['processing', 'completed'];
const ends = ['bought', 'refused', 'unknown'] as const;
type End = (typeof ends)[number];

const decisions = {
  hold: { action: 'hold' },
  release: { action: 'release' },
  cancel: { action: 'cancel' },
} as const satisfies Record<string, EntryAction>;
type Decision = keyof typeof decisions;

const of = <Kind extends string>(kind: Kind) => ({ kind: fc.constant(kind) });
/**
 * One step of the staff, of the shop's webhooks, of the worker or of a person at the command line.
 */
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ ...of('status'), to: fc.constantFrom(...statuses) }) },
  { weight: 2, arbitrary: fc.record({ ...of('refund'), line: fc.nat(3) }) },
  { weight: 3, arbitrary: fc.record({ ...of('readd'), line: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record(of('add')) },
  { weight: 1, arbitrary: fc.record(of('delete')) },
  { weight: 10, arbitrary: fc.record({ ...of('deliver'), back: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record(of('same_second')) },
  { weight: 5, arbitrary: fc.record({ ...of('send'), end: fc.constantFrom(...ends) }) },
  { weight: 1, arbitrary: fc.record({ ...of('look_up'), isFound: fc.boolean() }) },
  {
    weight: 5,
    arbitrary: fc.record({
      ...of('decide'),
      entry: fc.nat(3),
      decision: fc.constantFrom<Decision>('hold', 'release', 'cancel'),
    }),
  },
);
export type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

const settlements = {
  bought: fulfilled,
  refused: { ...emptyBalance, dueAtMs: 0 },
  unknown: {
    ...nothing,
    nextStep: 'send',
    dueAtMs: 0,
    inFlightWindowEndMs: null,
    inFlightWindowMs: null,
  },
} as const;

/** What the worker was told, and what it may do by that. */
class History {
  readonly #place: HistoryOutbox;
  readonly #orderId: string;
  readonly #sku: string;
  readonly #staff: Staff;
  readonly #delivered: Version[] = [];
  readonly #bought = new Map<string, number>();
  /**
   * Lines that an operator released although the shop does not want them, and the states of the shop
   * that counted then.
   */
  readonly #lifted = new Map<string, readonly Version[]>();
  /** Entries that only an operator may release: an operator holds them, or the worker asked one. */
  readonly #forPerson = new Set<string>();
  /** Lines that an operator ended: nothing of them may be bought. */
  readonly #ended = new Set<string>();
  /** How many more lines an operator let be bought than the shop shows. */
  #granted = 0;
  readonly problems: string[] = [];

  constructor(place: HistoryOutbox, staff: Staff) {
    this.#place = place;
    this.#staff = staff;
    const { orderId, sku } = place.nextOrder();
    this.#orderId = orderId;
    this.#sku = sku;
  }

  /** The states that count: the newest ones, more than one where they are of the same second. */
  get #newest(): readonly Version[] {
    const last = Math.max(...this.#delivered.map(({ second }) => second));
    const newest = this.#delivered.filter(({ second }) => second === last);
    // No refund is undone: of two paid states, the one with fewer refunds is older.
    const isOlder = (version: Version, other: Version): boolean =>
      isPaid(version) && isPaid(other) && version.refunded.size < other.refunded.size;
    return newest.filter((version) => !newest.some((other) => isOlder(version, other)));
  }

  get #entries(): readonly EntryNow[] {
    return this.#place.entriesOf(this.#orderId);
  }

  #isKept(lineId: string): boolean {
    return this.#newest.every((version) => isPaid(version) && (version.left.get(lineId) ?? 0) > 0);
  }

  /** Another line with the same SKU may stand for one that vanished: one of both is bought. */
  #mayBuy(lineId: string): boolean {
    const hasStandIn = (version: Version): boolean =>
      isPaid(version) &&
      [...version.left].some(
        ([other, kept]) => kept > 0 && Number(other) > Number(lineId) && !this.#bought.has(other),
      );
    return this.#isKept(lineId) || this.#newest.every(hasStandIn) || this.#lifted.has(lineId);
  }

  async deliver(version: Version): Promise<void> {
    this.#place.moveTo(this.#staff.second);
    await this.#place.handler.take({
      document: numbersAsText(
        version.isDeleted ? { id: Number(this.#orderId) } : this.#documentOf(version),
      ),
      isTest: false,
      topic: version.isDeleted ? 'order.deleted' : 'order.updated',
      isListed: false,
      refunds: version.isDeleted ? 'unknown' : refundsOf(version),
    });
    // A deletion has no time of its own: it counts from when it is told.
    this.#delivered.push(version.isDeleted ? { ...version, second: this.#staff.second } : version);
    for (const [lineId, before] of this.#lifted) {
      if (this.#isKept(lineId) || isOtherState(lineId, before, this.#newest))
        this.#lifted.delete(lineId);
    }
    for (const { lineId, reference, state } of this.#entries) {
      // One that is found although it was cancelled asks an operator, too.
      if (this.#forPerson.has(reference) && !/^(held|cancelled|needs_review)$/.test(state))
        this.problems.push(`${lineId} is ${state}, although only an operator may release it`);
    }
    this.#noteHeld();
  }

  #documentOf({ second, status, left, refunded }: Version): Record<string, unknown> {
    const time = (at: number): string =>
      new Date(this.#place.timeOf(at)).toISOString().slice(0, 19);
    return {
      id: Number(this.#orderId),
      number: this.#orderId,
      status,
      currency: 'USD',
      date_paid_gmt: time(1),
      date_modified_gmt: time(second),
      line_items: [...left].map(([id, kept]) => ({
        id: Number(id),
        sku: this.#sku,
        quantity: kept + (refunded.get(id) ?? 0),
        meta_data: [],
      })),
      refunds: [...refunded.keys()].map((id) => ({ id: Number(id) })),
    };
  }

  #noteHeld(): void {
    for (const { state, heldBy, reference } of this.#entries)
      if (state === 'held' && heldBy === null) this.#forPerson.add(reference);
  }

  /** Makes a call as the worker does. False when nothing may be sent. */
  async send(end: End): Promise<boolean> {
    const { outbox, nowMs } = this.#place;
    const { store } = outbox;
    const attempt = await stepsOf(store).openAttempt(outbox.claim({ nowMs }));
    if (attempt === null) return false;
    const { reference } = attempt.entry;
    const lineId = this.#lineOf(attempt);
    if (!this.#mayBuy(lineId))
      this.problems.push(`${lineId} is sent, although the shop does not want it`);
    if (this.#ended.has(lineId))
      this.problems.push(`${lineId} is sent, although an operator ended it`);
    if (this.#forPerson.has(reference))
      this.problems.push(`${lineId} is sent, although an operator holds it`);
    if (end === 'bought') this.#countBought(lineId);
    const closed = close(attempt, settlements[end], { nowMs });
    // A refusal counts as one that a lookup has confirmed.
    const outcome = { ...closed.outcome, sent: end !== 'refused' };
    await stepsOf(store).closeAttempt({ ...closed, outcome });
    return true;
  }

  /** Looks up an unknown outcome, as the worker does. False when nothing is to be looked up. */
  async lookUp(isFound: boolean): Promise<boolean> {
    const { outbox, nowMs } = this.#place;
    const attempt = await stepsOf(outbox.store).openAttempt(
      outbox.claim({ step: 'lookup', nowMs }),
    );
    if (attempt === null) return false;
    const lineId = this.#lineOf(attempt);
    if (isFound) this.#countBought(lineId);
    // One that was cancelled ends as that, or needs review.
    const { isEnding } = attempt.entry;
    const found = {
      ...settlements.bought,
      ...(isEnding ? { state: 'needs_review' as const } : {}),
    };
    const absent = { ...settlements.refused, ...(isEnding ? { state: 'cancelled' as const } : {}) };
    const settlement = isFound ? found : absent;
    await stepsOf(outbox.store).closeAttempt(close(attempt, settlement, { nowMs }));
    return true;
  }

  #lineOf({ entry: { reference } }: OpenAttempt): string {
    const found = this.#entries.find((entry) => entry.reference === reference);
    if (found === undefined) throw new Error('only entries of this history are due');
    return found.lineId;
  }

  #countBought(lineId: string): void {
    this.#bought.set(lineId, (this.#bought.get(lineId) ?? 0) + 1);
  }

  /** An operator decides about one of the entries, if that is allowed. */
  async decide(nth: number, decision: Decision): Promise<void> {
    const entries = this.#entries.filter(({ state }) => decision !== 'release' || state === 'held');
    const entry = entries[nth % Math.max(1, entries.length)];
    if (entry === undefined) return;
    const { reference, lineId, heldBy } = entry;
    try {
      await this.#place.outbox.store.operator.actOnEntry({
        reference,
        order: decisions[decision],
        actor: 'test',
        reason: 'for the test',
        nowMs: this.#place.nowMs,
        steadyMs: 1000,
        referenceExpiryMs: 86_400_000,
        lookupFamilies: [],
      });
    } catch (error) {
      if (hasCode(error, 'NOT_ALLOWED')) return;
      throw error;
    }
    this.#forPerson.delete(reference);
    this.#noteHeld();
    if (decision === 'release' && heldBy === 'shop') this.#lifted.set(lineId, this.#newest);
    if (decision === 'release') this.#granted += 1;
    if (decision !== 'cancel') return;
    if (this.#bought.has(lineId))
      this.problems.push(`${lineId} is bought, and an operator could cancel it`);
    this.#ended.add(lineId);
  }

  checkAtEnd(): void {
    for (const [lineId, times] of this.#bought)
      if (times > 1) this.problems.push(`${lineId} is bought ${times} times`);
    if (this.#delivered.length === 0) return;
    // A line that is removed and added again is one purchase, so no more is bought than the shop
    // ever showed at once.
    const sum = (counts: ReadonlyMap<string, number>): number =>
      [...counts.values()].reduce((all, one) => all + one, 0);
    const most =
      Math.max(...this.#delivered.map(({ left, refunded }) => sum(left) + sum(refunded))) +
      this.#granted;
    if (this.#bought.size > most)
      this.problems.push(
        `${this.#bought.size} lines are bought, the shop never had more than ${most}`,
      );
    const flags = this.#place.outbox.store.read.showOrder('woo', this.#orderId)?.rejections ?? [];
    const isFlagged = (lineId: string): boolean =>
      flags.some((flag) => flag.lineId === lineId || flag.lineId === null);
    const states = (lineId: string) =>
      this.#entries.filter((entry) => entry.lineId === lineId).map(({ state }) => state);
    for (const lineId of this.#newest[0]?.left.keys() ?? []) {
      if (!this.#isKept(lineId) || isFlagged(lineId) || this.#ended.has(lineId)) continue;
      // One that is found although it was cancelled asks an operator.
      if (!/^(fulfilled|held|needs_review)$/.test(states(lineId).join()))
        this.problems.push(`${lineId} is paid, and it is ${states(lineId).join() || 'nowhere'}`);
    }
    const isGone = this.#newest.every(
      ({ status, isDeleted }) => isDeleted || /^(cancelled|trash)$/.test(status),
    );
    // An entry that is found after it was cancelled asks an operator itself.
    for (const lineId of isGone ? this.#bought.keys() : [])
      if (!isFlagged(lineId) && !states(lineId).includes('needs_review'))
        this.problems.push(
          `${lineId} was bought, the order is gone, and nobody is asked to look at it`,
        );
  }
}

function isPaid({ status, isDeleted }: Version): boolean {
  return !isDeleted && paid.includes(status);
}

/**
 * Whether a line is not to be bought for another reason than before. Of states of the same second
 * nobody knows the last.
 */
function isOtherState(
  lineId: string,
  before: readonly Version[],
  now: readonly Version[],
): boolean {
  const why = (version: Version): string =>
    isPaid(version)
      ? `${version.left.get(lineId) ?? 0} are left`
      : version.isDeleted
        ? 'deleted'
        : version.status;
  const [[was], [is]] = [before, now];
  return (
    before.length === 1 &&
    now.length === 1 &&
    was !== undefined &&
    is !== undefined &&
    why(was) !== why(is)
  );
}

function refundsOf({ refunded }: Version): readonly unknown[] {
  return [...refunded].map(([id, quantity]) =>
    numbersAsText({
      id: Number(id),
      line_items: [{ quantity: -quantity, meta_data: [{ key: '_refunded_item_id', value: id }] }],
    }),
  );
}

/** The steps of one history. */
export const historySteps = fc.array(step, { minLength: 3, maxLength: 25, size: 'max' });

/** Plays a history. Returns what must not be: nothing. */
export async function playHistory(
  steps: readonly Step[],
  place: HistoryOutbox,
): Promise<readonly string[]> {
  const staff = new Staff();
  const history = new History(place, staff);
  for (const one of steps) {
    if (one.kind === 'status') staff.setStatus(one.to);
    else if (one.kind === 'same_second') staff.sameSecond();
    else if (one.kind === 'refund') staff.refund(one.line);
    else if (one.kind === 'readd') staff.readd(one.line);
    else if (one.kind === 'add') staff.add();
    else if (one.kind === 'delete') staff.delete();
    else if (one.kind === 'send') await history.send(one.end);
    else if (one.kind === 'look_up') await history.lookUp(one.isFound);
    else if (one.kind === 'decide') await history.decide(one.entry, one.decision);
    else {
      const version = staff.versions.at(-1 - one.back) ?? staff.versions[0];
      if (version !== undefined) await history.deliver(version);
    }
  }
  // A claim that holds an entry opens no call, and the next one continues.
  const goOn = async (): Promise<boolean> =>
    (await history.send('bought')) || (await history.lookUp(false));
  for (let idle = 0; idle < 8; idle = (await goOn()) ? 0 : idle + 1);
  history.checkAtEnd();
  return history.problems;
}
