import { keyFingerprint } from '../../core/order/reference.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import type { ShopIdentity, ShopFingerprint } from '../../core/shop-identity.ts';
import { columnOf, statementOf } from '../sqlite/database.ts';
import type { Outbox } from '../sqlite/outbox.ts';

/** Longer than any order may wait to be bought (`max_age_h`): an older order is not bought again under another source. */
const forgottenAfterMs = 400 * 86_400_000;

const findSource = columnOf<[kind: string, value: string], string>(
  'SELECT source FROM shop_fingerprints WHERE kind = ? AND value = ?',
);
const remember = statementOf<{ kind: string; value: string; source: string; nowMs: number }, never>(
  `INSERT INTO shop_fingerprints (kind, value, source, seen_at_ms) VALUES (:kind, :value, :source, :nowMs)
   ON CONFLICT (kind, value) DO UPDATE SET seen_at_ms = excluded.seen_at_ms`,
);
const forgetOld = statementOf<[number], never>('DELETE FROM shop_fingerprints WHERE seen_at_ms < ?');

/**
 * Remembers the source of each shop: it is a part of the references of its orders. Called inside a transaction, so all
 * shops are remembered or none.
 * @throws OrderSyncError CONFIG_INVALID when a shop comes under another source
 */
export function adoptShops(
  { database, namespace }: Pick<Outbox, 'database' | 'namespace'>,
  { shops, nowMs }: { shops: readonly ShopIdentity[]; nowMs: number },
): void {
  for (const shop of shops) {
    const { title, source } = shop;
    for (const fingerprint of shop.fingerprints) {
      const { kind } = fingerprint;
      const value = kind === 'secret' ? keyFingerprint(namespace, fingerprint.value) : fingerprint.value;
      const known = findSource(database).get(kind, value);
      if (known !== undefined && known !== source) refuse(title, fingerprint, { known, source });
      remember(database).run({ kind, value, source, nowMs });
    }
  }
  forgetOld(database).run(nowMs - forgottenAfterMs);
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
