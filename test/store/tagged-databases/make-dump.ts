/**
 * Writes a database of the present schema with an order in each state as SQL, for
 * `tagged-databases.test.ts`:
 *
 *   node test/store/tagged-databases/make-dump.ts 0.1.0
 *
 * Run it once for each tagged version, before the tag. The dump of a version that was released
 * never changes again; that of a version in the making is written anew when its schema changes.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Settlement } from '../../../src/buying/decision/settlement.ts';
import type { EntryState } from '../../../src/core/entry/states.ts';
import { migrations } from '../../../src/store/sqlite/schema.ts';
import { answer, close, fulfilled, line, nothing, Outbox } from '../../support/outbox.ts';
import { stepsOf } from '../../support/steps.ts';
import { dumpOf } from './dump.ts';

const refused: Settlement = {
  ...fulfilled,
  state: 'rejected',
  row: 'invalid_variant',
  error: { code: 'invalid_variant', message: 'No such product', buffered: false },
  answer: null,
};

/** How the call for an order ends; null: a person or the worker ends it without a call. */
const settlements: Readonly<Record<Exclude<EntryState, 'pending' | 'sending'>, Settlement | null>> =
  {
    waiting: { ...refused, state: 'waiting', row: 'out_of_stock', dueAtMs: 900_000 },
    unknown: nothing,
    placed: { ...fulfilled, state: 'placed', nextStep: 'lookup', answer: { ...answer, units: [] } },
    fulfilled,
    refunded: { ...fulfilled, state: 'refunded' },
    rejected: refused,
    needs_review: {
      ...refused,
      state: 'needs_review',
      reviewReason: 'the answer names another product',
    },
    expired: null,
    cancelled: null,
    held: null,
  };

async function accept(outbox: Outbox, orderId: string): Promise<string> {
  const notAfterMs = orderId === 'expired' ? 1500 : null;
  const [accepted] = await outbox.accept([
    line({ orderId, notAfterMs, metadata: { customer: `${orderId}@shop.example` } }),
  ]);
  return accepted?.reference ?? '';
}

async function decide(outbox: Outbox, reference: string, action: 'hold' | 'cancel'): Promise<void> {
  const by = {
    actor: 'cli:anna',
    reason: 'the shop asked',
    nowMs: 2500,
    steadyMs: 1000,
  };
  const order = { action };
  await outbox.store.operator.actOnEntry({
    ...by,
    reference,
    order,
    referenceExpiryMs: 1e9,
    lookupFamilies: [],
  });
}

async function fill(outbox: Outbox): Promise<void> {
  for (const [state, settlement] of Object.entries(settlements)) {
    const reference = await accept(outbox, state);
    if (settlement !== null)
      await stepsOf(outbox.store).closeAttempt(close(await outbox.opened(), settlement));
    if (state === 'expired') await stepsOf(outbox.store).expireOverdue(2000, 5);
    if (state === 'cancelled') await decide(outbox, reference, 'cancel');
    if (state === 'held') await decide(outbox, reference, 'hold');
  }
  await accept(outbox, 'sending');
  await outbox.opened();
  await accept(outbox, 'pending');
}

const [version] = process.argv.slice(2);
if (version === undefined)
  throw new Error('name the version: node test/store/tagged-databases/make-dump.ts 0.1.0');
const outbox = await Outbox.open();
await fill(outbox);
const path = join(import.meta.dirname, `${version}-schema-${migrations().length}.sql`);
writeFileSync(path, `-- See make-dump.ts.\n${dumpOf(outbox.path)}`);
await outbox.close();
process.stdout.write(`${path}\n`);
