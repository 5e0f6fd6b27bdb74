import { keyFingerprint, type ReferenceNamespace } from '../../core/order/reference.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import type { ShopIdentity, ShopFingerprint } from '../../core/shop-identity.ts';
import type { Sqlite } from '../sqlite/database.ts';

/** Longer than any order may wait to be bought (`max_age_h`): an older order is not bought again under another source. */
const forgottenAfterMs = 400 * 86_400_000;

/**
 * Remembers the source of each shop: it is a part of the references of its orders. Called inside a transaction, so all
 * shops are remembered or none.
 * @throws OrderSyncError CONFIG_INVALID when a shop comes under another source
 */
export function adoptShops(
  database: Sqlite,
  namespace: ReferenceNamespace,
  { shops, nowMs }: { shops: readonly ShopIdentity[]; nowMs: number },
): void {
  const findSource = database
    .prepare<{ kind: string; value: string }, string>(
      'SELECT source FROM shop_fingerprints WHERE kind = :kind AND value = :value',
    )
    .pluck();
  const remember = database.prepare(
    `INSERT INTO shop_fingerprints (kind, value, source, seen_at_ms) VALUES (:kind, :value, :source, :nowMs)
     ON CONFLICT (kind, value) DO UPDATE SET seen_at_ms = excluded.seen_at_ms`,
  );
  for (const shop of shops) {
    const { title, source } = shop;
    for (const fingerprint of shop.fingerprints) {
      const { kind } = fingerprint;
      const value = kind === 'secret' ? keyFingerprint(namespace, fingerprint.value) : fingerprint.value;
      const known = findSource.get({ kind, value });
      if (known !== undefined && known !== source) refuse(title, fingerprint, { known, source });
      remember.run({ kind, value, source, nowMs });
    }
  }
  database.prepare('DELETE FROM shop_fingerprints WHERE seen_at_ms < ?').run(nowMs - forgottenAfterMs);
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
