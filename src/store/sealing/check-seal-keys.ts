import { randomBytes } from 'node:crypto';
import { nonceBytes, type SealKeys } from '../../core/sealing/seal-keys.ts';
import { hasCode, OrderSyncError } from '../../core/order-sync-error.ts';
import { columnOf, inTransaction, type Sqlite } from '../sqlite/database.ts';
import { readMeta, writeMeta } from '../sqlite/meta.ts';

const checked = 'order-sync';

// From one key to the next by the index: the cost is the number of keys, not that of entries.
const keysInUse = columnOf<[], string>(`
  WITH RECURSIVE used (key) AS (
    SELECT min(sealed_by) FROM entries WHERE units IS NOT NULL AND sealed_by > ''
    UNION ALL
    SELECT (SELECT min(sealed_by) FROM entries WHERE units IS NOT NULL AND sealed_by > used.key) FROM used WHERE used.key IS NOT NULL)
  SELECT key FROM used WHERE key IS NOT NULL`);
const countOfKey = columnOf<[string], number>('SELECT count(*) FROM entries WHERE units IS NOT NULL AND sealed_by = ?');

/**
 * Checks that the configured keys open what is sealed in the database. A worker that cannot read what it bought could
 * neither judge nor deliver it, so it does not start.
 * @throws OrderSyncError SEAL_KEY_MISSING, SEAL_KEY_CHANGED
 */
export function checkSealKeys(database: Sqlite, keys: SealKeys): void {
  for (const id of keysInUse(database).all()) {
    if (keys.ids.includes(id)) continue;
    const count = countOfKey(database).get(id);
    const message = `The codes of ${count} entries are sealed with the key "${id}", which is not in seal.keys`;
    throw new OrderSyncError('SEAL_KEY_MISSING', message, {
      hint: 'put it back from your copy; a key may be removed once `order-sync seal status` shows no entry of it. See docs/sealing.md, also for a key that is lost',
    });
  }
  inTransaction(database, () => {
    for (const id of keys.ids) checkValue(database, keys, id);
  });
}

/** The database keeps a text that each key has sealed: a wrong value under a known id is noticed before it seals anything. */
function checkValue(database: Sqlite, keys: SealKeys, id: string): void {
  const name = `seal_check:${id}`;
  const at = { reference: id, place: 'seal_check' };
  const known = readMeta(database, name);
  if (known === undefined) return writeMeta(database, name, keys.seal(checked, at, randomBytes(nonceBytes), id));
  try {
    keys.open(known, at);
  } catch (error) {
    if (!hasCode(error, 'SEALED_UNREADABLE')) throw error;
    throw new OrderSyncError('SEAL_KEY_CHANGED', `The sealing key "${id}" has another value than before`, {
      hint: 'put the value back from your copy; a new key needs a new id and comes first in seal.keys',
    });
  }
}
