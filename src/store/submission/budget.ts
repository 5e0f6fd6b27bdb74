import { keyFingerprint, type ReferenceNamespace } from '../../core/order/reference.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { inTransaction, type Sqlite } from '../sqlite/database.ts';
import type { SqlitePauses } from './pauses.ts';
import type { BudgetSlot, KeyBackOff, KeysAdopted, KeysInUse, StoredBudget } from './submission.ts';

interface KeyRow {
  readonly name: string;
  readonly fingerprint: string | null;
}

interface BackOffRow {
  readonly bootId: string | null;
  readonly stampedMono: number | null;
  readonly blockedUntilMono: number | null;
  readonly throttledUntilMono: number | null;
  readonly throttleLengthMs: number | null;
  readonly rateLimitedAtMs: number | null;
}

/** A value that was known under another name: its slots and its back-off move with it. */
interface Move {
  readonly from: string;
  readonly to: string;
}

interface Stamp {
  readonly nowMono: number;
  readonly bootId: string | null;
  readonly nowMs: number;
}

const noBackOff: BackOffRow = {
  bootId: null,
  stampedMono: null,
  blockedUntilMono: null,
  throttledUntilMono: null,
  throttleLengthMs: null,
  rateLimitedAtMs: null,
};

/** The keys of the configuration, by name. */
function keyStatements(database: Sqlite) {
  return {
    keys: database.prepare<[], KeyRow>(
      'SELECT key_name AS name, value_fingerprint AS fingerprint FROM wholesale_keys ORDER BY key_name',
    ),
    putKey: database.prepare(
      `INSERT INTO wholesale_keys (key_name, value_fingerprint) VALUES (:name, :fingerprint)
       ON CONFLICT (key_name) DO UPDATE SET value_fingerprint = excluded.value_fingerprint`,
    ),
    // A key that was removed is remembered while slots of its budget are held: it may come back under another name.
    dropOthers: database.prepare(
      `DELETE FROM wholesale_keys WHERE key_name NOT IN (SELECT value FROM json_each(:names))
       AND key_name NOT IN (SELECT key_name FROM budget_slots)`,
    ),
    moveSlots: database.prepare(
      `UPDATE budget_slots SET key_name = (SELECT m.value FROM json_each(:moves) m WHERE m.key = budget_slots.key_name)
       WHERE key_name IN (SELECT key FROM json_each(:moves))`,
    ),
    // A slot is there while its call is in flight, and until its window is over.
    isInUse: database.prepare<{ name: string }, number>(
      `SELECT 1 FROM budget_slots WHERE key_name = :name
       UNION ALL SELECT 1 FROM wholesale_keys WHERE key_name = :name AND stamped_mono IS NOT NULL LIMIT 1`,
    ),
  };
}

/** What a 429 asked of each key. */
function backOffStatements(database: Sqlite) {
  return {
    backOff: database.prepare<[string], BackOffRow>(
      `SELECT boot_id AS bootId, stamped_mono AS stampedMono, blocked_until_mono AS blockedUntilMono,
         throttled_until_mono AS throttledUntilMono, throttle_length_ms AS throttleLengthMs, rate_limited_at_ms AS rateLimitedAtMs
       FROM wholesale_keys WHERE key_name = ?`,
    ),
    putBackOff: database.prepare(
      `INSERT INTO wholesale_keys (key_name, boot_id, stamped_mono, blocked_until_mono, throttled_until_mono,
         throttle_length_ms, rate_limited_at_ms)
       VALUES (:keyName, :bootId, :stampedMono, :blockedUntilMono, :throttledUntilMono, :throttleLengthMs, :rateLimitedAtMs)
       ON CONFLICT (key_name) DO UPDATE SET boot_id = excluded.boot_id, stamped_mono = excluded.stamped_mono,
         blocked_until_mono = excluded.blocked_until_mono, throttled_until_mono = excluded.throttled_until_mono,
         throttle_length_ms = excluded.throttle_length_ms, rate_limited_at_ms = excluded.rate_limited_at_ms`,
    ),
    // A back-off that was stamped in another run of the machine lasts its full length again, from now on.
    restartBackOffs: database.prepare(
      `UPDATE wholesale_keys SET boot_id = :bootId, stamped_mono = :nowMono,
         blocked_until_mono = :nowMono + max(0, blocked_until_mono - stamped_mono),
         throttled_until_mono = :nowMono + max(0, throttled_until_mono - stamped_mono)
       WHERE stamped_mono IS NOT NULL AND (boot_id IS NULL OR boot_id IS NOT :bootId)`,
    ),
    backOffs: database.prepare<[], KeyBackOff>(
      `SELECT key_name AS keyName, blocked_until_mono AS blockedUntilMono, throttled_until_mono AS throttledUntilMono,
         throttle_length_ms AS throttleLengthMs
       FROM wholesale_keys WHERE stamped_mono IS NOT NULL ORDER BY key_name`,
    ),
  };
}

/** The slots of every call. */
function slotStatements(database: Sqlite) {
  return {
    takeSlot: database.prepare(
      'INSERT INTO budget_slots (key_name, limit_name, attempt_id, boot_id, taken_mono) VALUES (?, ?, ?, ?, ?)',
    ),
    settleSlot: database.prepare('UPDATE budget_slots SET settled_mono = ? WHERE id = ?'),
    settleAttempt: database.prepare(
      'UPDATE budget_slots SET settled_mono = ?, boot_id = ? WHERE attempt_id = ? AND settled_mono IS NULL',
    ),
    freeAttempt: database.prepare('DELETE FROM budget_slots WHERE attempt_id = ?'),
    settleOthers: database.prepare(
      `UPDATE budget_slots SET settled_mono = :settledMono, boot_id = :bootId
       WHERE settled_mono IS NULL OR boot_id IS NULL OR boot_id IS NOT :bootId`,
    ),
    slots: database.prepare<[], BudgetSlot>(
      'SELECT key_name AS keyName, limit_name AS limitName, settled_mono AS settledMono FROM budget_slots ORDER BY settled_mono',
    ),
    forgetSlots: database.prepare(
      'DELETE FROM budget_slots WHERE settled_mono IS NOT NULL AND boot_id IS ? AND settled_mono < ?',
    ),
  };
}

/**
 * Slots are kept until their window is over, so that a restart remembers them. The server counts its budget by the value
 * of a key: when a value comes under another name, its slots and its back-off move to that name.
 */
export class SqliteBudget implements StoredBudget {
  readonly #database: Sqlite;
  readonly #namespace: ReferenceNamespace;
  readonly #pauses: SqlitePauses;
  readonly #statements;

  constructor(database: Sqlite, parts: { namespace: ReferenceNamespace; pauses: SqlitePauses }) {
    this.#database = database;
    this.#namespace = parts.namespace;
    this.#pauses = parts.pauses;
    this.#statements = { ...keyStatements(database), ...backOffStatements(database), ...slotStatements(database) };
  }

  async adoptKeys(keys: KeysInUse): Promise<KeysAdopted> {
    const { nowMs, whileRunning } = keys;
    return inTransaction(this.#database, () => {
      const known = this.#statements.keys.all();
      const configured = keys.keys.map(
        ({ name, value }): KeyRow => ({ name, fingerprint: keyFingerprint(this.#namespace, value) }),
      );
      const changed = configured.filter(
        ({ name, fingerprint }) => known.find((key) => key.name === name)?.fingerprint !== fingerprint,
      );
      const moves = changed.flatMap(({ name, fingerprint }): Move[] => {
        const from = known.find((key) => key.fingerprint === fingerprint);
        return from === undefined ? [] : [{ from: from.name, to: name }];
      });
      const inUse = moves.find(({ from }) => this.#statements.isInUse.get({ name: from }) !== undefined);
      // The calls in flight are counted under the old name.
      if (whileRunning && inUse !== undefined) refuseMove(inUse);
      const replaced = changed
        .filter(({ name }) => known.some((key) => key.name === name && key.fingerprint !== null))
        .map(({ name }) => name);
      this.#move(moves, replaced);
      for (const key of configured) this.#statements.putKey.run(key);
      const names = configured.map(({ name }) => name);
      this.#statements.dropOthers.run({ names: JSON.stringify(names) });
      // At the first start every key is new, and none of them changed.
      const changedNames = known.length === 0 ? [] : changed.map(({ name }) => name);
      this.#pauses.keysChanged({ configured: names, changed: changedNames, nowMs });
      return { replaced };
    });
  }

  /** A back-off binds the value that it was asked of. Slots count for the name as well, which is only safer. */
  #move(moves: readonly Move[], replaced: readonly string[]): void {
    const backOffs = moves.map(({ from, to }) => ({ to, backOff: this.#statements.backOff.get(from) }));
    for (const keyName of replaced) this.#statements.putBackOff.run({ keyName, ...noBackOff });
    if (moves.length > 0) {
      const newNames = Object.fromEntries(moves.map(({ from, to }) => [from, to]));
      this.#statements.moveSlots.run({ moves: JSON.stringify(newNames) });
    }
    for (const { to, backOff } of backOffs) this.#statements.putBackOff.run({ keyName: to, ...noBackOff, ...backOff });
  }

  /** Called inside the transaction that closes the attempt which was rate-limited. */
  stampBackOff(backOff: KeyBackOff, { nowMono, bootId, nowMs }: Stamp): void {
    this.#statements.putBackOff.run({ ...backOff, bootId, stampedMono: nowMono, rateLimitedAtMs: nowMs });
  }

  async recordBackOff(backOff: KeyBackOff, at: Stamp): Promise<void> {
    inTransaction(this.#database, () => this.stampBackOff(backOff, at));
  }

  async restoreBackOffs(restart: { nowMono: number; bootId: string | null }): Promise<readonly KeyBackOff[]> {
    return inTransaction(this.#database, () => {
      this.#statements.restartBackOffs.run(restart);
      return this.#statements.backOffs.all();
    });
  }

  /** A spending call takes a slot of both limits at once (Spec 8). Called inside the transaction of its attempt. */
  takeForAttempt(slot: {
    keyName: string;
    attemptId: number;
    spends: boolean;
    takenMono: number;
    bootId: string | null;
  }): void {
    const { keyName, attemptId, bootId, takenMono } = slot;
    this.#statements.takeSlot.run(keyName, 'requests', attemptId, bootId, takenMono);
    if (slot.spends) this.#statements.takeSlot.run(keyName, 'orders', attemptId, bootId, takenMono);
  }

  /** Called inside the transaction that closes the attempt. Null: the call never left, and its slots are free. */
  settleAttempt(attemptId: number, settledMono: number | null, bootId: string | null): void {
    if (settledMono === null) this.#statements.freeAttempt.run(attemptId);
    else this.#statements.settleAttempt.run(settledMono, bootId, attemptId);
  }

  async takeSlot(slot: { keyName: string; nowMono: number; bootId: string | null }): Promise<number> {
    const { keyName, nowMono, bootId } = slot;
    return inTransaction(this.#database, () =>
      Number(this.#statements.takeSlot.run(keyName, 'requests', null, bootId, nowMono).lastInsertRowid),
    );
  }

  async settleSlot(id: number, settledMono: number): Promise<void> {
    inTransaction(this.#database, () => this.#statements.settleSlot.run(settledMono, id));
  }

  async restoreSlots(restart: { settledMono: number; bootId: string | null }): Promise<readonly BudgetSlot[]> {
    return inTransaction(this.#database, () => {
      this.#statements.settleOthers.run(restart);
      return this.#statements.slots.all();
    });
  }

  async forgetSlots(freeBeforeMono: number, bootId: string | null): Promise<void> {
    inTransaction(this.#database, () => this.#statements.forgetSlots.run(bootId, freeBeforeMono));
  }
}

function refuseMove({ from, to }: Move): never {
  throw new OrderSyncError(
    'CONFIG_INVALID',
    `The value of the wholesale key "${to}" is known as "${from}": its budget is counted under that name`,
    { hint: 'keep the name of a key as long as its value stays; or wait for its budget, or start the worker again' },
  );
}
