import fc from 'fast-check';
import { pino } from 'pino';
import { SystemClock } from '../../src/ops/system-clock.ts';
import { type ShopHandler, StorefrontIntake } from '../../src/storefronts/storefront-intake.ts';
import { close, emptyBalance, fulfilled, nothing, Outbox } from '../support/outbox.ts';
import { numbersAsText } from './read-back/running-read-back.ts';
import { wooCommerceShop } from './shop-settings.ts';

const statuses = ['pending', 'processing', 'completed', 'on-hold', 'fraud-check', 'cancelled', 'trash'] as const;
const paid: readonly string[] = ['processing', 'completed'];
const ends = ['bought', 'refused', 'unknown'] as const;
type End = (typeof ends)[number];

const of = <Kind extends string>(kind: Kind) => ({ kind: fc.constant(kind) });
/** One step of the staff, of the shop's webhooks or of the worker. */
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ ...of('status'), to: fc.constantFrom(...statuses) }) },
  { weight: 2, arbitrary: fc.record({ ...of('refund'), line: fc.nat(3) }) },
  { weight: 2, arbitrary: fc.record({ ...of('readd'), line: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record(of('add')) },
  { weight: 8, arbitrary: fc.record({ ...of('deliver'), back: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record(of('same_second')) },
  { weight: 5, arbitrary: fc.record({ ...of('send'), end: fc.constantFrom(...ends) }) },
);
export type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** The order as the shop shows it at one time. */
interface Version {
  readonly second: number;
  readonly status: string;
  /** How many of each line the customer keeps. */
  readonly left: ReadonlyMap<string, number>;
  readonly refunded: ReadonlyMap<string, number>;
}

const orderId = '1000001';
const settlements = {
  bought: fulfilled,
  refused: { ...emptyBalance, dueAtMs: 0 },
  unknown: { ...nothing, nextStep: 'send', dueAtMs: 0, settlementDelayEndMs: null, settlementDelayMs: null },
} as const;

/** The shop: what its staff make of the order. */
class Staff {
  readonly versions: Version[] = [];
  #lines = new Map([[`${orderId}1`, 1]]);
  readonly #refunded = new Map<string, number>();
  #lastLine = 1;
  #second = 10;
  #status = 'processing';

  constructor() {
    this.#note();
  }

  /** The next change is in the same second as the last one. */
  sameSecond(): void {
    this.#second -= 1;
  }

  setStatus(status: string): void {
    this.#status = status;
    this.#changed();
  }

  refund(nth: number): void {
    const id = this.#kept(nth);
    if (id === undefined) return;
    this.#lines.set(id, 0);
    this.#refunded.set(id, 1);
    this.#changed();
  }

  /** The line is removed and added again: it has another id then. */
  readd(nth: number): void {
    const id = this.#kept(nth);
    if (id === undefined) return;
    this.#lines.delete(id);
    this.add();
  }

  add(): void {
    this.#lastLine += 1;
    this.#lines.set(`${orderId}${this.#lastLine}`, 1);
    this.#changed();
  }

  #kept(nth: number): string | undefined {
    const ids = [...this.#lines].filter(([, left]) => left > 0).map(([id]) => id);
    return ids[nth % Math.max(1, ids.length)];
  }

  #changed(): void {
    this.#second += 1;
    this.#note();
  }

  #note(): void {
    const [left, refunded] = [new Map(this.#lines), new Map(this.#refunded)];
    this.versions.push({ second: this.#second, status: this.#status, left, refunded });
  }
}

/** What the worker was told, and what it may do by that. */
class History {
  readonly #outbox: Outbox;
  readonly #handler: ShopHandler;
  readonly #startS = Math.floor(Date.now() / 1000) - 86_400;
  readonly #delivered: Version[] = [];
  readonly #bought = new Map<string, number>();
  readonly problems: string[] = [];

  constructor(outbox: Outbox, handler: ShopHandler) {
    this.#outbox = outbox;
    this.#handler = handler;
  }

  /** The states that count: the newest ones, more than one where they are of the same second. */
  get #newest(): readonly Version[] {
    const last = Math.max(...this.#delivered.map(({ second }) => second));
    return this.#delivered.filter(({ second }) => second === last);
  }

  #isKept(lineId: string): boolean {
    return this.#newest.every(({ status, left }) => paid.includes(status) && (left.get(lineId) ?? 0) > 0);
  }

  /** Another line with the same SKU may stand for one that vanished: one of both is bought. */
  #mayBuy(lineId: string): boolean {
    const hasStandIn = ({ status, left }: Version): boolean =>
      paid.includes(status) &&
      [...left].some(([other, kept]) => kept > 0 && Number(other) > Number(lineId) && !this.#bought.has(other));
    return this.#isKept(lineId) || this.#newest.every(hasStandIn);
  }

  async deliver(version: Version): Promise<void> {
    const time = (second: number): string => new Date((this.#startS + second) * 1000).toISOString().slice(0, 19);
    const document = numbersAsText({
      id: Number(orderId),
      number: orderId,
      status: version.status,
      currency: 'USD',
      date_paid_gmt: time(1),
      date_modified_gmt: time(version.second),
      line_items: [...version.left].map(([id, left]) => ({
        id: Number(id),
        sku: 'STEAM-20',
        quantity: left + (version.refunded.get(id) ?? 0),
        meta_data: [],
      })),
      refunds: [...version.refunded.keys()].map((id) => ({ id: Number(id) })),
    });
    const refunds = numbersAsText(
      [...version.refunded].map(([id, quantity]) => ({
        id: Number(id),
        line_items: [{ quantity: -quantity, meta_data: [{ key: '_refunded_item_id', value: id }] }],
      })),
    );
    if (!Array.isArray(refunds)) throw new Error('refunds are a list');
    await this.#handler.take({ document, isTest: false, topic: 'order.updated', isListed: false, refunds });
    this.#delivered.push(version);
  }

  /** Makes a call as the worker does. False when nothing may be sent. */
  async send(end: End): Promise<boolean> {
    const { store } = this.#outbox;
    const attempt = await store.submission.openAttempt(this.#outbox.claim({ nowMs: Date.now() + 1000 }));
    if (attempt === null) return false;
    const { reference } = attempt.entry;
    const entries = store.read.showEntry(reference)?.entries ?? [];
    const lineId = entries.find((entry) => entry.reference === reference)?.lineId ?? '';
    if (!this.#mayBuy(lineId)) this.problems.push(`${lineId} is sent, although the shop does not want it`);
    if (end === 'bought') this.#bought.set(lineId, (this.#bought.get(lineId) ?? 0) + 1);
    await store.submission.closeAttempt(close(attempt, settlements[end]));
    return true;
  }

  checkAtEnd(): void {
    for (const [lineId, times] of this.#bought) if (times > 1) this.problems.push(`${lineId} is bought ${times} times`);
    if (this.#delivered.length === 0) return;
    // A line that is removed and added again is one purchase, so no more is bought than the shop ever showed at once.
    const sum = (counts: ReadonlyMap<string, number>): number =>
      [...counts.values()].reduce((all, one) => all + one, 0);
    const most = Math.max(...this.#delivered.map(({ left, refunded }) => sum(left) + sum(refunded)));
    if (this.#bought.size > most)
      this.problems.push(`${this.#bought.size} lines are bought, the shop never had more than ${most}`);
    const shown = this.#outbox.store.read.showOrder('woo', orderId);
    const isFlagged = (lineId: string): boolean =>
      shown?.rejections.some((flag) => flag.lineId === lineId || flag.lineId === null) === true;
    const states = (lineId: string) =>
      shown?.entries.filter((entry) => entry.lineId === lineId).map(({ state }) => state) ?? [];
    for (const lineId of this.#newest[0]?.left.keys() ?? []) {
      if (!this.#isKept(lineId) || isFlagged(lineId)) continue;
      if (!/^(fulfilled|held)$/.test(states(lineId).join()))
        this.problems.push(`${lineId} is paid, and it is ${states(lineId).join() || 'nowhere'}`);
    }
    const isGone = this.#newest.every(({ status }) => status === 'cancelled' || status === 'trash');
    for (const lineId of isGone ? this.#bought.keys() : [])
      if (!isFlagged(lineId))
        this.problems.push(`${lineId} was bought, the order is gone, and nobody is asked to look at it`);
  }
}

/** The steps of one history. */
export const historySteps = fc.array(step, { minLength: 3, maxLength: 25 });

/** Plays a history. Returns what must not be: nothing. */
export async function playHistory(steps: readonly Step[], skuMap: string): Promise<readonly string[]> {
  const outbox = await Outbox.open();
  try {
    const intake = new StorefrontIntake({
      shops: [wooCommerceShop({ skuMap, source: 'woo' })],
      store: outbox.store.storefronts,
      clock: new SystemClock(),
      logger: pino({ level: 'silent' }),
      onChanged: () => undefined,
    });
    const handler = intake.handlerFor('woocommerce', 'main');
    if (handler === null) throw new Error('the shop is configured');
    const staff = new Staff();
    const history = new History(outbox, handler);
    for (const one of steps) {
      if (one.kind === 'status') staff.setStatus(one.to);
      else if (one.kind === 'same_second') staff.sameSecond();
      else if (one.kind === 'refund') staff.refund(one.line);
      else if (one.kind === 'readd') staff.readd(one.line);
      else if (one.kind === 'add') staff.add();
      else if (one.kind === 'send') await history.send(one.end);
      else {
        const version = staff.versions.at(-1 - one.back) ?? staff.versions[0];
        if (version !== undefined) await history.deliver(version);
      }
    }
    // A claim that holds an entry opens no call, and the next one continues.
    for (let idle = 0; idle < 8; idle = (await history.send('bought')) ? 0 : idle + 1);
    history.checkAtEnd();
    return history.problems;
  } finally {
    await outbox.close();
  }
}
