import { stepsOf } from '../../support/steps.ts';
import { describe, expect, it, onTestFinished } from 'vitest';
import SqliteDatabase from 'better-sqlite3';
import { boughtOrderSql } from '../../../src/buying/proofs/lookup-proofs-sql.ts';
import { answer, close, fulfilled, line, Outbox } from '../../support/outbox.ts';

describe('the proof that lookups work', () => {
  it('holds for one path of each kind, and the newest proof counts', async () => {
    const box = await Outbox.open();
    onTestFinished(() => box.close());
    await stepsOf(box.store).lookups.prove({ kind: 'esim', path: '/esim/orders/{key}' });
    await stepsOf(box.store).lookups.prove({ kind: 'esim', path: '/v2/esim/orders/{key}' });
    expect(await stepsOf(box.store).lookups.proven()).toEqual([
      { kind: 'esim', path: '/v2/esim/orders/{key}' },
    ]);
  });
});

describe('an order to try a lookup with', () => {
  it('was surely bought and is of the same kind: a top-up proves lookups of top-ups only', async () => {
    const box = await Outbox.open();
    onTestFinished(() => box.close());
    await box.accept([
      line({ operation: 'esim_topup', variant: null, plan: 'p', iccid: '8988211000000000001' }),
    ]);
    const topup = await box.opened();
    await stepsOf(box.store).closeAttempt(
      close(topup, { ...fulfilled, answer: { ...answer, units: [] } }),
    );
    expect(await stepsOf(box.store).lookups.boughtReference('esim_topup')).toBe(
      topup.entry.reference,
    );
    expect(await stepsOf(box.store).lookups.boughtReference('esim')).toBeNull();
    await box.accept([line({ lineId: '2', operation: 'esim_order', variant: null, plan: 'p' })]);
    const attempt = await box.opened();
    await stepsOf(box.store).closeAttempt(close(attempt, fulfilled));
    expect(await stepsOf(box.store).lookups.boughtReference('esim')).toBe(attempt.entry.reference);
    expect(await stepsOf(box.store).lookups.boughtReference('gift_card')).toBeNull();
  });

  it('is neither years old, because the supplier may have archived it, nor the very last one, which it may not show yet', async () => {
    const box = await Outbox.open();
    onTestFinished(() => box.close());
    const references: string[] = [];
    for (let order = 1; order <= 30; order += 1) {
      await box.accept([line({ orderId: String(order) })]);
      const attempt = await box.opened();
      references.push(attempt.entry.reference);
      await stepsOf(box.store).closeAttempt(close(attempt, fulfilled));
    }
    const tried = references.indexOf(
      (await stepsOf(box.store).lookups.boughtReference('gift_card')) ?? '',
    );
    expect(tried).toBe(10);
  });

  it('is found by an index, without a search through the orders of the other family', async () => {
    const box = await Outbox.open();
    onTestFinished(() => box.close());
    const database = new SqliteDatabase(box.path, { readonly: true });
    const plan = database.prepare<[string], { detail: string }>(
      `EXPLAIN QUERY PLAN ${boughtOrderSql}`,
    );
    const steps = plan.all('esim_order').map((step) => step.detail);
    database.close();
    expect(steps).toContain('SEARCH entries USING INDEX entries_bought (operation=?)');
    expect(steps.filter((step) => step.includes('entries'))).toHaveLength(1);
  });
});
