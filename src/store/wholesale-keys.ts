import { keyFingerprint } from '../core/order/reference.ts';
import { OrderSyncError } from '../core/order-sync-error.ts';
import { updatePausesOfKeys } from './entries/pauses.ts';
import { columnOf, statementOf, type Sqlite } from './sqlite/database.ts';
import type { Outbox } from './sqlite/outbox.ts';

/*
 * The keys of the configuration, and the back-off of each after a 429. The server counts its budget
 * by the value of a key: when a value comes under another name, its slots and its back-off move to
 * that name.
 */

export interface KeysInUse {
  readonly keys: readonly { readonly name: string; readonly value: string }[];
  readonly nowMs: number;
  /** Calls may be open: a value must keep its name. */
  readonly whileRunning: boolean;
}

interface ReplacedKeys {
  readonly replaced: readonly string[];
}

/**
 * After a 429: until when a key backs off, and until when its calls are throttled, in steady time.
 */
export interface KeyBackOff {
  readonly keyName: string;
  readonly blockedUntilMs: number;
  readonly throttledUntilMs: number;
  readonly throttleLengthMs: number;
  /**
   * For how long 429s have come although the budget allowed the calls; unexplained: somebody else
   * uses the key.
   */
  readonly surprise?: { readonly forMs: number; readonly isUnexplained: boolean };
}

interface KeyRow {
  readonly name: string;
  readonly fingerprint: string | null;
}

/** A value that was known under another name: its slots and its back-off move with it. */
type Move = Readonly<Record<'from' | 'to', string>>;

const noBackOff = {
  blockedUntilMs: null,
  throttledUntilMs: null,
  throttleLengthMs: null,
  rateLimitedAtMs: null,
  usedElsewhereSinceMs: null,
};
type BackOffRow = Readonly<Record<keyof typeof noBackOff, number | null>>;

// The keys of the configuration, by name.
const selectKeys = statementOf<[], KeyRow>(
  'SELECT key_name AS name, value_fingerprint AS fingerprint FROM wholesale_keys ORDER BY key_name',
);
const putKey = statementOf<KeyRow, never>(
  `INSERT INTO wholesale_keys (key_name, value_fingerprint) VALUES (:name, :fingerprint)
   ON CONFLICT (key_name) DO UPDATE SET value_fingerprint = excluded.value_fingerprint`,
);
// A key that was removed is remembered while slots of its budget are held: it may come back under
// another name.
const dropOtherKeys = statementOf<[string], never>(
  `DELETE FROM wholesale_keys WHERE key_name NOT IN (SELECT value FROM json_each(?))
   AND key_name NOT IN (SELECT key_name FROM budget_slots)`,
);
const moveSlots = statementOf<{ moves: string }, never>(
  `UPDATE budget_slots SET key_name = (SELECT m.value FROM json_each(:moves) m WHERE m.key = budget_slots.key_name)
   WHERE key_name IN (SELECT key FROM json_each(:moves))`,
);
// A slot is there while its call is in flight, and until its window is over.
const findUse = columnOf<{ name: string }, number>(
  `SELECT 1 FROM budget_slots WHERE key_name = :name
   UNION ALL SELECT 1 FROM wholesale_keys WHERE key_name = :name AND blocked_until_steady IS NOT NULL LIMIT 1`,
);

// The back-off that a 429 asked of each key.
const selectBackOff = statementOf<[string], BackOffRow>(
  `SELECT blocked_until_steady AS blockedUntilMs,
     throttled_until_steady AS throttledUntilMs, throttle_length_ms AS throttleLengthMs, rate_limited_at_ms AS rateLimitedAtMs,
     used_elsewhere_since_ms AS usedElsewhereSinceMs
   FROM wholesale_keys WHERE key_name = ?`,
);
const putBackOff = statementOf<BackOffRow & { keyName: string }, never>(
  `INSERT INTO wholesale_keys (key_name, blocked_until_steady, throttled_until_steady,
     throttle_length_ms, rate_limited_at_ms, used_elsewhere_since_ms)
   VALUES (:keyName, :blockedUntilMs, :throttledUntilMs, :throttleLengthMs, :rateLimitedAtMs,
     :usedElsewhereSinceMs)
   ON CONFLICT (key_name) DO UPDATE SET
     blocked_until_steady = excluded.blocked_until_steady, throttled_until_steady = excluded.throttled_until_steady,
     throttle_length_ms = excluded.throttle_length_ms, rate_limited_at_ms = excluded.rate_limited_at_ms,
     used_elsewhere_since_ms = excluded.used_elsewhere_since_ms`,
);
/** Called inside the transaction that closes the attempt which was rate-limited. */
export function stampBackOff(database: Sqlite, backOff: KeyBackOff, nowMs: number): void {
  const { surprise = { forMs: 0, isUnexplained: false }, ...stored } = backOff;
  const known = selectBackOff(database).get(backOff.keyName)?.usedElsewhereSinceMs ?? null;
  const before = surprise.forMs === 0 ? null : known;
  const usedElsewhereSinceMs = surprise.isUnexplained
    ? (before ?? Math.round(nowMs - surprise.forMs))
    : before;
  putBackOff(database).run({
    ...stored,
    rateLimitedAtMs: nowMs,
    usedElsewhereSinceMs,
  });
}

/**
 * A back-off binds the value that it was asked of. Slots count for the name as well, which is only
 * safer.
 */
function moveKeys(database: Sqlite, moves: readonly Move[], replaced: readonly string[]): void {
  const backOffs = moves.map(({ from, to }) => ({
    to,
    backOff: selectBackOff(database).get(from),
  }));
  for (const keyName of replaced) putBackOff(database).run({ keyName, ...noBackOff });
  if (moves.length > 0) {
    const newNames = Object.fromEntries(moves.map(({ from, to }) => [from, to]));
    moveSlots(database).run({ moves: JSON.stringify(newNames) });
  }
  for (const { to, backOff } of backOffs)
    putBackOff(database).run({ keyName: to, ...noBackOff, ...backOff });
}

/**
 * Records the keys of the configuration, at the start and when they change. Pauses that a changed
 * value may end are probed at once. `replaced`: names that have another value than before. Called
 * inside a transaction.
 * @throws OrderSyncError CONFIG_INVALID while running, when a value comes under another name
 */
export function adoptKeys(
  { database, namespace }: Outbox,
  { keys, nowMs, whileRunning }: KeysInUse,
): ReplacedKeys {
  const known = selectKeys(database).all();
  const configured = keys.map(({ name, value }) => ({
    name,
    fingerprint: keyFingerprint(namespace, value),
  }));
  const changed = configured.filter(
    ({ name, fingerprint }) => known.find((key) => key.name === name)?.fingerprint !== fingerprint,
  );
  const moves = changed.flatMap(({ name, fingerprint }): Move[] => {
    const from = known.find((key) => key.fingerprint === fingerprint);
    return from === undefined ? [] : [{ from: from.name, to: name }];
  });
  const inUse = moves.find(({ from }) => findUse(database).get({ name: from }) !== undefined);
  // The calls in flight are counted under the old name.
  if (whileRunning && inUse !== undefined) refuseMove(inUse);
  const replaced = changed
    .filter(({ name }) => known.some((key) => key.name === name && key.fingerprint !== null))
    .map(({ name }) => name);
  moveKeys(database, moves, replaced);
  for (const key of configured) putKey(database).run(key);
  const names = configured.map(({ name }) => name);
  dropOtherKeys(database).run(JSON.stringify(names));
  // At the first start every key is new, and none of them changed.
  const changedNames = known.length === 0 ? [] : changed.map(({ name }) => name);
  updatePausesOfKeys(database, { configured: names, changed: changedNames, nowMs });
  return { replaced };
}

function refuseMove({ from, to }: Move): never {
  throw new OrderSyncError(
    'CONFIG_INVALID',
    `The value of the wholesale key "${to}" is known as "${from}", under which its budget is counted`,
    {
      hint: 'keep the old name as long as the value stays; or restart the worker',
    },
  );
}
