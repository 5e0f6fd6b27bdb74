import { lookedUpKinds, type LookedUp, type Operation } from '../../core/order/purchase.ts';
import { columnOf } from '../../store/sqlite/database.ts';
import { deleteMeta, lookupMissed, readMeta, writeMeta } from '../../store/sqlite/meta.ts';
import { OutboxSteps } from '../../store/sqlite/outbox.ts';

/** A lookup has found an order of this kind under this path. */
export interface LookupProof {
  readonly kind: LookedUp;
  readonly path: string;
}

const nameOf = (kind: LookedUp): string => `lookup_proven:${kind}`;

/**
 * An order that was surely bought: `outcome_row` says that the API accepted it. An order that only
 * an operator resolved may be missing at the API, and so may one of years ago, or the very last one,
 * which a lookup may not show yet. This query runs on every turn of the loop and costs nothing, by
 * the index that it names.
 */
export const boughtOrderSql = `SELECT reference FROM (
    SELECT id, reference FROM entries INDEXED BY entries_bought
    WHERE state = 'fulfilled' AND outcome_row = 'accepted' AND operation = ? ORDER BY id DESC LIMIT 20)
  ORDER BY id LIMIT 1`;
const findBought = columnOf<[Operation], string>(boughtOrderSql);

/** Which lookup paths have found an order of ours before: only then is "not found" believed. */
export class LookupProofs extends OutboxSteps {
  async proven(): Promise<readonly LookupProof[]> {
    return lookedUpKinds.flatMap((kind) => {
      const path = readMeta(this.database, nameOf(kind));
      return path === undefined ? [] : [{ kind, path }];
    });
  }

  readonly prove = this.step(({ database }, { kind, path }: LookupProof): void => {
    writeMeta(database, nameOf(kind), path);
    deleteMeta(database, lookupMissed + kind);
  });

  /** A lookup did not find the order with this reference, which was surely bought. */
  readonly miss = this.step(
    ({ database }, { kind, ...missed }: LookupProof & { reference: string; at: string }): void => {
      const known = readMeta(database, lookupMissed + kind);
      if (known === undefined || JSON.parse(known).path !== missed.path)
        writeMeta(database, lookupMissed + kind, JSON.stringify(missed));
    },
  );

  /** Such orders are not looked up any more. */
  readonly forgetMiss = this.step(({ database }, kind: LookedUp) =>
    deleteMeta(database, lookupMissed + kind),
  );

  /**
   * The reference of an order that was surely bought, to try a lookup with; null while there is
   * none.
   */
  async boughtReference(kind: LookedUp): Promise<string | null> {
    return findBought(this.database).get(kind === 'esim_topup' ? kind : `${kind}_order`) ?? null;
  }
}
