import { stepsOf } from './steps.ts';
import { onTestFinished } from 'vitest';
import type { EntryActionName } from '../../src/core/entry/states.ts';
import type { EntryAction } from '../../src/core/operator/operator-decision.ts';
import type { Settlement } from '../../src/buying/decision/settlement.ts';
import type { EntryCommand, EntryCommandResult } from '../../src/store/operator/entry-command.ts';
import { answer, close, fulfilled, line, nothing, Outbox } from './outbox.ts';

export const inFlightWindowEndMs = 120_000;
export const nowMs = 500_000;
export const referenceExpiryMs = 86_400_000;

const clean = { outcomeUnknown: false, inFlightWindowEndMs: null, inFlightWindowMs: null } as const;
export const outOfStock: Settlement = {
  ...nothing,
  ...clean,
  state: 'waiting',
  nextStep: 'send',
  dueAtMs: 900_000,
  row: 'out_of_stock',
  error: { code: 'out_of_stock', message: 'no stock', buffered: false },
};
export const review = (changes: Partial<Settlement>): Settlement => ({
  ...nothing,
  ...clean,
  state: 'needs_review',
  nextStep: 'send',
  reviewReason: 'somebody must look',
  ...changes,
});

/** Every situation of an entry. */
export const names = [
  'pending',
  'sending',
  'waiting',
  'unknown',
  'placed',
  'fulfilled',
  'fulfilled, units missing',
  'refunded',
  'rejected',
  'expired',
  'cancelled',
  'needs_review, refused',
  'needs_review, outcome unknown',
  'needs_review, accepted',
  'needs_review, mismatch',
  'held, pending',
  'held, waiting',
  'held, unknown',
  'held, placed',
  'rejected, replaced',
  'pending, after a loss',
  'waiting, after a loss',
  'held, after a loss',
] as const;
export type Situation = (typeof names)[number];

/** Brings an entry into each situation. */
const situations: Record<Situation, (box: Outbox) => Promise<unknown>> = {
  pending: async () => undefined,
  sending: async (box) => void (await box.opened()),
  waiting: (box) => settle(box, outOfStock),
  unknown: (box) => settle(box, nothing),
  placed: (box) =>
    settle(box, {
      ...nothing,
      ...clean,
      state: 'placed',
      row: 'accepted',
      error: null,
      answer: { ...answer, units: [] },
    }),
  fulfilled: (box) => settle(box, fulfilled),
  'fulfilled, units missing': (box) =>
    situations['needs_review, outcome unknown'](box).then(() =>
      act(box, { ...boughtInPlaceOf('GC-77'), units: [] }),
    ),
  refunded: (box) => settle(box, { ...fulfilled, state: 'refunded' }),
  rejected: (box) => settle(box, { ...outOfStock, state: 'rejected' }),
  expired: async (box) => void (await stepsOf(box.store).expireOverdue(nowMs, 5)),
  cancelled: (box) => act(box, { action: 'cancel' }),
  'needs_review, refused': (box) =>
    settle(
      box,
      review({
        row: 'reference_in_use',
        error: { code: 'reference_in_use', message: 'taken', buffered: false },
      }),
    ),
  'needs_review, outcome unknown': (box) =>
    settle(
      box,
      review({ outcomeUnknown: true, inFlightWindowEndMs: inFlightWindowEndMs, row: 'dropped' }),
    ),
  'needs_review, accepted': (box) =>
    settle(box, review({ row: 'accepted', error: null, answer: { ...answer, units: [] } })),
  'needs_review, mismatch': (box) => settle(box, review({ row: 'answer_mismatch' })),
  'held, pending': (box) => act(box, { action: 'hold' }),
  'held, waiting': (box) => settle(box, outOfStock).then(() => act(box, { action: 'hold' })),
  'held, unknown': (box) => settle(box, nothing).then(() => act(box, { action: 'hold' })),
  'held, placed': (box) => situations.placed(box).then(() => act(box, { action: 'hold' })),
  'rejected, replaced': (box) =>
    situations.rejected(box).then(() => act(box, { action: 'reorder', confirm: referenceOf(box) })),
  'pending, after a loss': lose,
  'waiting, after a loss': (box) => settle(box, outOfStock).then(() => lose(box)),
  'held, after a loss': (box) => act(box, { action: 'hold' }).then(() => lose(box)),
};

/** From now on the outbox is one that replaces another, which may have sent what is here. */
async function lose(box: Outbox): Promise<void> {
  await box.store.operator.beginAfterLoss({
    actor: 'cli:anna',
    reason: 'the disk was lost',
    nowMs,
    untilMs: 9_000_000,
  });
}

function lineFor(situation: Situation): Parameters<typeof line>[0] {
  return situation === 'expired' ? { notAfterMs: 1500 } : {};
}

const boughtInPlaceOf = (orderNumber: string | null) =>
  ({ action: 'resolve', as: 'fulfilled', orderNumber, note: 'seen in their list' }) as const;

export async function settle(box: Outbox, settlement: Settlement): Promise<void> {
  const attempt = await stepsOf(box.store).openAttempt(box.claim({ nowMs: 510_000 }));
  if (attempt === null) throw new Error('nothing was due');
  await stepsOf(box.store).closeAttempt(close(attempt, settlement));
}

export const rows = <T>(box: Outbox, sql: string): T[] => box.rows<T>(sql);

export const referenceOf = (box: Outbox): string =>
  rows<{ reference: string }>(box, 'SELECT reference FROM entries ORDER BY id')[0]?.reference ?? '';

export type Row = Record<string, unknown>;
export const versionOf = (box: Outbox): number =>
  rows<{ version: number }>(box, 'SELECT version FROM requests')[0]?.version ?? 0;
export const entries = (box: Outbox): Row[] => rows(box, 'SELECT * FROM entries ORDER BY id');
/** All rows of the database that a decision could change. */
export const everything = (box: Outbox): unknown =>
  ['entries', 'attempts', 'audit', 'requests', 'deliveries', 'pauses', 'lines', 'budget_slots'].map(
    (table) => rows(box, `SELECT * FROM ${table}`),
  );

export function act(
  box: Outbox,
  order: EntryAction,
  changes: Partial<EntryCommand> = {},
): Promise<EntryCommandResult> {
  return box.store.operator.actOnEntry({
    reference: referenceOf(box),
    order,
    actor: 'cli:anna',
    reason: 'asked by the shop',
    nowMs,
    steadyMs: changes.nowMs ?? nowMs,
    referenceExpiryMs,
    lookupFamilies: ['gift_card', 'esim'],
    ...changes,
  });
}

export async function standingIn(situation: Situation): Promise<Outbox> {
  const box = await Outbox.open();
  onTestFinished(() => box.close());
  await box.accept([line(lineFor(situation))]);
  await situations[situation](box);
  return box;
}

export const orders = (box: Outbox): Record<EntryActionName, EntryAction> => ({
  hold: { action: 'hold' },
  release: { action: 'release' },
  cancel: { action: 'cancel' },
  retry: { action: 'retry' },
  reorder: { action: 'reorder', confirm: referenceOf(box) },
  resolve: { ...boughtInPlaceOf(null), units: [] },
});
