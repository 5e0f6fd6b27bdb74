import { keyFingerprint } from '../../core/budget/key-fingerprint.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import type { ReferenceNamespace } from '../../core/order/reference.ts';
import type { ShopIdentity, ShopFingerprint } from '../../core/shop-identity.ts';
import { inTransaction, type Sqlite } from '../sqlite/database.ts';

/** Longer than any order of a shop may wait for being bought (`max_age_h`): what is older buys nothing again. */
const forgottenAfterMs = 400 * 86_400_000;

/** Which source the orders of each shop belong to, for ever: it is a part of their references. */
export class ShopFingerprints {
  readonly #database: Sqlite;
  readonly #namespace: ReferenceNamespace;
  readonly #statements;

  constructor(database: Sqlite, namespace: ReferenceNamespace) {
    this.#database = database;
    this.#namespace = namespace;
    this.#statements = {
      sourceOf: database
        .prepare<{ kind: string; value: string }, string>(
          'SELECT source FROM shop_fingerprints WHERE kind = :kind AND value = :value',
        )
        .pluck(),
      remember: database.prepare(
        `INSERT INTO shop_fingerprints (kind, value, source, seen_at_ms) VALUES (:kind, :value, :source, :nowMs)
         ON CONFLICT (kind, value) DO UPDATE SET seen_at_ms = excluded.seen_at_ms`,
      ),
      forget: database.prepare('DELETE FROM shop_fingerprints WHERE seen_at_ms < ?'),
    };
  }

  /** All of them are remembered, or none. @throws OrderSyncError CONFIG_INVALID when one comes under another source */
  adopt(shops: { shops: readonly ShopIdentity[]; nowMs: number }): void {
    const { nowMs } = shops;
    inTransaction(this.#database, () => {
      for (const shop of shops.shops) {
        const { title, source } = shop;
        for (const mark of shop.marks) {
          const { kind } = mark;
          const value = kind === 'secret' ? keyFingerprint(this.#namespace, mark.value) : mark.value;
          const known = this.#statements.sourceOf.get({ kind, value });
          if (known !== undefined && known !== source) refuse(title, mark, { known, source });
          this.#statements.remember.run({ kind, value, source, nowMs });
        }
      }
      this.#statements.forget.run(nowMs - forgottenAfterMs);
    });
  }
}

function refuse(title: string, { kind }: ShopFingerprint, sources: { known: string; source: string }): never {
  const { known, source } = sources;
  throw new OrderSyncError(
    'CONFIG_INVALID',
    `The orders of the shop ${title} would belong to the source "${source}", but the shop with this ${kind} has the source "${known}"`,
    {
      hint: `set source: ${known} for it: under another source, what the shop shows again would be bought again. Another shop needs a name and a secret of its own`,
    },
  );
}
