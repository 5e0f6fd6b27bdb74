import { keyDenials } from '../../core/answers/outcome.ts';
import { columnOf, type Sqlite } from '../sqlite/database.ts';
import { accountKey } from '../sqlite/meta.ts';

/*
 * Which keys may call the API for the entry `e` that was sent before: another key may be of another
 * account, where the entry is not found, and would be bought a second time.
 */

/** Whether an order shows that the key is of the account. */
export const isOfAccount = (fingerprint: string): string =>
  `'${accountKey}' || ${fingerprint} IN (SELECT name FROM meta)`;
export const hasAnyKey = `EXISTS (SELECT 1 FROM meta WHERE name GLOB '${accountKey}*')`;

/**
 * For the entry `e` and a key: null if a lookup with the key tells what became of its last call;
 * else 0 if it only tells that it was bought, because the key may be one of another account; 1 if
 * another key must look it up.
 */
export const otherSender = (fingerprint = ':fingerprint'): string => `(
  SELECT a.key_fingerprint IN (SELECT value_fingerprint FROM wholesale_keys WHERE value_fingerprint IS NOT NULL)
      OR (${hasAnyKey} AND NOT ${isOfAccount(fingerprint)})
  FROM attempts a
  WHERE a.entry_id = e.id AND a.number = (SELECT max(number) FROM attempts WHERE entry_id = e.id AND purpose = 'submit')
    AND a.key_fingerprint <> ${fingerprint} AND NOT (${isOfAccount('a.key_fingerprint')} AND ${isOfAccount(fingerprint)}))`;

/**
 * Whether the last call of the entry `e` may have bought it, whatever was answered: something in
 * between may have repeated the call. A key that is denied (401, 403) did not buy with the first
 * copy of that call either; in a maintenance (503) it may have. A repeated cancel costs nothing.
 */
const mayBeBoughtTwice = `(e.sent_since_lookup = 1 AND e.operation <> 'esim_cancel' AND EXISTS (
  SELECT 1 FROM attempts s WHERE s.entry_id = e.id AND s.purpose = 'submit' AND s.sent = 1
    AND s.outcome NOT IN (${keyDenials.map((row) => `'${row}'`).join()})))`;

/**
 * Whether the entry `e` is left to the key that sent it last, which still buys.
 * @param paused a query for the scopes that are paused
 */
export const waitsForKey = (fingerprint: string, paused: string): string =>
  `(${mayBeBoughtTwice} AND ${otherSender(fingerprint)} IS 1 AND 'key:' || coalesce(e.key_name, '') NOT IN (${paused}))`;

const findOtherSender = columnOf<{ id: number; fingerprint: string | null }, 0 | 1 | null>(
  `SELECT ${otherSender()} FROM entries e WHERE e.id = :id`,
);
const findBoughtTwice = columnOf<[number], 0 | 1>(
  `SELECT ${mayBeBoughtTwice} FROM entries e WHERE e.id = ?`,
);
const findAwaitedKey = columnOf<[string], string>(
  `SELECT e.key_name FROM entries e WHERE e.reference = ? AND e.state IN ('pending', 'waiting') AND EXISTS (
     SELECT 1 FROM wholesale_keys k
     WHERE k.value_fingerprint IS NOT NULL AND ${waitsForKey('k.value_fingerprint', 'SELECT scope FROM pauses')})`,
);

/** See `otherSender`. */
export function otherSenderOf(
  database: Sqlite,
  id: number,
  fingerprint: string | null,
): 0 | 1 | null {
  return findOtherSender(database).get({ id, fingerprint }) ?? null;
}

/** See `mayBeBoughtTwice`. */
export const isBoughtTwice = (database: Sqlite, id: number): boolean =>
  findBoughtTwice(database).get(id) === 1;

/** The name of the key that an entry waits for: there is another one, which may not send it. */
export const awaitedKeyOf = (database: Sqlite, reference: string): string | null =>
  findAwaitedKey(database).get(reference) ?? null;
