import { describe, expect, it, onTestFinished } from 'vitest';
import { withoutAnswer, type Outcome } from '../../src/core/answers/outcome.ts';
import { Attempt } from '../../src/submit/attempt.ts';
import { ProvenProducts } from '../../src/submit/proven-products.ts';
import { attemptDeps } from '../support/attempt-deps.ts';
import { close, fulfilled, line, nothing, Outbox } from '../support/outbox.ts';
import { wrappedStore } from '../support/wrapped-store.ts';

const product = 'variant:steam-10';
const dropped = withoutAnswer('dropped', true, 'the connection ended');
const key = { name: 'main', value: 'key' };

async function boxOf(lines: number): Promise<Outbox> {
  const box = await Outbox.open();
  onTestFinished(() => box.close());
  await box.accept(Array.from({ length: lines }, (_, index) => line({ orderId: `o${index}` })));
  return box;
}

const paused = (box: Outbox) =>
  box.store.submission.pauses.open({
    scope: product,
    reason: 'unreadable_success',
    message: 'two entries',
    openedBy: 'worker',
    probeAtMs: 1,
    nowMs: 1,
  });

interface Watch {
  /** Called while the pauses are read. */
  readonly onRefresh?: (trials: readonly string[]) => void;
  readonly duringCall?: () => Promise<void>;
}

/** Runs the trial order of the product to this end. */
async function tried(box: Outbox, outcome: Outcome, { onRefresh, duringCall }: Watch = {}) {
  const store = wrappedStore(box.store, (name, step) => {
    if (name !== 'submission.pauses.all') return step;
    return (...values) => {
      onRefresh?.(deps.pauses.trials());
      return step(...values);
    };
  });
  const submit = async (): Promise<Outcome> => {
    await duringCall?.();
    return outcome;
  };
  const deps = attemptDeps(store, { submit });
  await deps.pauses.refresh();
  deps.gate.tryTake('spend');
  const attempt = await box.opened({ trials: deps.pauses.trials() });
  expect(attempt.trialOf).toEqual([product]);
  deps.pauses.trialOpened(attempt.trialOf, attempt.attemptId);
  expect(deps.pauses.trials()).toEqual([]);
  await new Attempt(deps).run(attempt, key, new AbortController().signal);
  return deps.pauses;
}

describe('a trial order', () => {
  it('that fails is the only one until the doubled delay is over, also while its end is written', async () => {
    const box = await boxOf(2);
    await paused(box);
    const seen: (readonly string[])[] = [];
    const failed: Outcome = { ...dropped, row: 'unreadable_success', http: 200 };
    const pauses = await tried(box, failed, { onRefresh: (trials) => void seen.push(trials) });
    // The first reading is the one before the trial.
    expect(seen.slice(1)).toEqual([[]]);
    expect(pauses.trials()).toEqual([]);
    const [pause] = pauses.all;
    expect(pause?.probes).toBe(1);
    expect((pause?.probeAtMs ?? 0) - Date.now()).toBeGreaterThan(100_000);
  });

  it('that no byte left for is made again, and its scope is not stuck', async () => {
    const box = await boxOf(2);
    await paused(box);
    const pauses = await tried(box, withoutAnswer('local_resource', false, 'no ports left'));
    expect(pauses.trials()).toEqual([product]);
    expect(pauses.all).toMatchObject([{ scope: product, probes: 0 }]);
  });

  it('has a scope that a person took over meanwhile no more', async () => {
    const box = await boxOf(2);
    await paused(box);
    const person = { scope: product, actor: 'cli:anna', reason: 'stocktaking', nowMs: 2 };
    const pauses = await tried(box, dropped, { duringCall: () => box.store.operator.pauseScope(person) });
    await pauses.refresh();
    expect(pauses.trials()).toEqual([]);
    expect(await box.store.submission.openAttempt(box.claim({ trials: [product] }))).toBeNull();
    expect(pauses.all).toMatchObject([{ reason: 'manual', probeAtMs: null }]);
  });
});

describe('a product that was bought', () => {
  const scopes = { product, family: 'family:gift_card', balance: null };
  const call = {
    entryId: 1,
    purpose: 'submit',
    scopes,
    namesEsim: false,
    row: 'accepted',
    message: '',
    isAnswered: true,
    isAccepted: true,
    isProvenAbsent: false,
    isUnread: false,
    trialOf: [],
    sentMono: 0,
    endedMono: 0,
  } as const;

  it('is proven until an order of it ends without a clear answer; a lookup that hangs says nothing about its orders', () => {
    const products = new ProvenProducts(1);
    products.record(call, 0);
    expect(products.isProven(product)).toBe(true);
    products.record({ ...call, purpose: 'lookup', row: 'deadline', isAccepted: false }, 0);
    products.record({ ...call, row: 'out_of_stock', isAccepted: false }, 0);
    expect(products.isProven(product)).toBe(true);
    products.record({ ...call, row: 'deadline', isAccepted: false }, 0);
    expect(products.isProven(product)).toBe(false);
    products.record({ ...call, purpose: 'lookup' }, 0);
    expect(products.isProven(product)).toBe(true);
  });

  it('is not proven by an order whose units, when they come, have a field that is not read', () => {
    const products = new ProvenProducts(1);
    products.record(call, 0);
    products.record({ ...call, purpose: 'lookup', isAccepted: false, isUnread: true }, 0);
    expect(products.wasBought(product)).toBe(false);
    expect(products.isSound(product)).toBe(false);
  });

  it('has the next trial after the other sound ones when an order was refused', () => {
    const products = new ProvenProducts(1);
    const of = (name: string) => ({ ...call, scopes: { ...scopes, product: `variant:${name}` } });
    for (const name of ['a', 'b', 'c']) products.record(of(name), 0);
    products.record({ ...of('c'), row: 'unlisted_code', isAccepted: false }, 0);
    products.record({ ...of('b'), purpose: 'lookup', row: 'deadline', isAccepted: false }, 0);
    const inTurn = ['a', 'b', 'c'].toSorted(
      (one, other) => products.lastPurchase(`variant:${other}`) - products.lastPurchase(`variant:${one}`),
    );
    expect(inTurn).toEqual(['b', 'a', 'c']);
    expect(products.isSound('variant:c') && products.isProven('variant:c')).toBe(true);
  });

  it('last has the trial of its paused family, also after a restart, unless it failed since', async () => {
    const box = await boxOf(0);
    const { submission } = box.store;
    for (const [index, variant] of ['c', 'b', 'a', 'c'].entries()) {
      await box.accept([line({ orderId: `before${index}`, variant })]);
      await submission.closeAttempt(close(await box.opened(), fulfilled));
    }
    const family = 'family:gift_card';
    const pause = { scope: family, reason: 'order_absent', message: '', openedBy: 'worker', probeAtMs: 1, nowMs: 1 };
    await submission.pauses.open(pause);
    await box.accept(['new', 'b', 'a', 'c', 'c'].map((variant, index) => line({ orderId: `after${index}`, variant })));
    const nothingElse = { forget: [], open: [], postpone: [], end: [] };
    const failedTrial = async (): Promise<string | null> => {
      const record = new ProvenProducts(1);
      record.remember(await submission.productsBought(), await submission.productsFailing());
      const attempt = await box.opened({ products: record, trials: [family] });
      const scope = `variant:${attempt.entry.variant}`;
      const evidence = { scope, reason: 'order_absent' as const, entryId: attempt.entry.id, product: scope };
      const judge = () => ({ ...nothingElse, remember: [evidence] });
      await submission.closeAttempt(close(attempt, nothing, { scopes: { judged: [], judge } }));
      return attempt.entry.variant;
    };
    expect([await failedTrial(), await failedTrial(), await failedTrial()]).toEqual(['c', 'a', 'b']);
  });
});
