import { keyFingerprint } from '../../core/budget/key-fingerprint.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import type { ReferenceNamespace } from '../../core/order/reference.ts';
import { inTransaction, type Sqlite } from '../sqlite/database.ts';
import type { SqlitePauses } from './pauses.ts';
import type { BudgetSlot, KeyBackOff, KeysAdopted, KeysInUse, StoredBudget } from './submission.ts';

interface KeyRow {
  readonly keyName: string;
  readonly print: string | null;
}

/** A value that was known under another name: its slots, and what the server asked of it, go with it. */
interface Move {
  readonly from: string;
  readonly to: string;
}

const backOffColumns =
  'boot_id, stamped_mono, blocked_until_mono, throttled_until_mono, throttle_length_ms, rate_limited_at_ms';

/**
 * Which keys are configured, and what the server asked of each. The budget is the server's, and it counts by the value
 * of a key, so a value that comes under another name brings what is held of its budget along.
 */
export class SqliteBudget implements StoredBudget {
  readonly #database: Sqlite;
  readonly #namespace: ReferenceNamespace;
  readonly #pauses: SqlitePauses;
  readonly #statements;

  constructor(database: Sqlite, rooms: { namespace: ReferenceNamespace; pauses: SqlitePauses }) {
    this.#database = database;
    this.#namespace = rooms.namespace;
    this.#pauses = rooms.pauses;
    const forget = `stamped_mono = NULL, blocked_until_mono = NULL, throttled_until_mono = NULL, throttle_length_ms = NULL,
      rate_limited_at_ms = NULL`;
    this.#statements = {
      all: database.prepare<[], KeyRow>(
        'SELECT key_name AS keyName, value_fingerprint AS print FROM wholesale_keys ORDER BY key_name',
      ),
      print: database.prepare(
        `INSERT INTO wholesale_keys (key_name, value_fingerprint) VALUES (:name, :print)
         ON CONFLICT (key_name) DO UPDATE SET value_fingerprint = excluded.value_fingerprint`,
      ),
      forgetBackOff: database.prepare(`UPDATE wholesale_keys SET ${forget} WHERE key_name = ?`),
      moveSlots: database.prepare(
        `UPDATE budget_slots SET key_name = (SELECT m.value FROM json_each(:moves) m WHERE m.key = budget_slots.key_name)
         WHERE key_name IN (SELECT key FROM json_each(:moves))`,
      ),
      // A slot stands there as long as its call is open, and until its window is over.
      isHeld: database.prepare<[string, string], number>(
        `SELECT 1 FROM budget_slots WHERE key_name = ?
         UNION ALL SELECT 1 FROM wholesale_keys WHERE key_name = ? AND stamped_mono IS NOT NULL LIMIT 1`,
      ),
      // A key that is gone is remembered as long as slots of its budget are held: it may come back under another name.
      dropOthers: database.prepare(
        `DELETE FROM wholesale_keys WHERE key_name NOT IN (SELECT value FROM json_each(:names))
         AND key_name NOT IN (SELECT key_name FROM budget_slots)`,
      ),
      rest: database.prepare(
        `INSERT INTO wholesale_keys (key_name, ${backOffColumns})
         VALUES (:keyName, :bootId, :nowMono, :blockedUntilMono, :throttledUntilMono, :throttleLengthMs, :nowMs)
         ON CONFLICT (key_name) DO UPDATE SET boot_id = excluded.boot_id, stamped_mono = excluded.stamped_mono,
           blocked_until_mono = excluded.blocked_until_mono, throttled_until_mono = excluded.throttled_until_mono,
           throttle_length_ms = excluded.throttle_length_ms, rate_limited_at_ms = excluded.rate_limited_at_ms`,
      ),
      // What was stamped in another run of the machine lasts as long again as it was asked for, from now on.
      adoptBackOffs: database.prepare(
        `UPDATE wholesale_keys SET boot_id = :bootId, stamped_mono = :nowMono,
           blocked_until_mono = :nowMono + max(0, blocked_until_mono - stamped_mono),
           throttled_until_mono = :nowMono + max(0, throttled_until_mono - stamped_mono)
         WHERE stamped_mono IS NOT NULL AND (boot_id IS NULL OR boot_id IS NOT :bootId)`,
      ),
      rests: database.prepare<[], KeyBackOff>(
        `SELECT key_name AS keyName, blocked_until_mono AS blockedUntilMono, throttled_until_mono AS throttledUntilMono,
           throttle_length_ms AS throttleLengthMs
         FROM wholesale_keys WHERE stamped_mono IS NOT NULL ORDER BY key_name`,
      ),
      takeSlot: database.prepare(
        'INSERT INTO budget_slots (key_name, limit_name, attempt_id, boot_id, taken_mono) VALUES (?, ?, ?, ?, ?)',
      ),
      settleSlots: database.prepare(
        'UPDATE budget_slots SET settled_mono = ?, boot_id = ? WHERE attempt_id = ? AND settled_mono IS NULL',
      ),
      freeSlots: database.prepare('DELETE FROM budget_slots WHERE attempt_id = ?'),
      settleSlot: database.prepare('UPDATE budget_slots SET settled_mono = ? WHERE id = ?'),
      adoptSlots: database.prepare(
        'UPDATE budget_slots SET settled_mono = ?, boot_id = ? WHERE settled_mono IS NULL OR boot_id IS NULL OR boot_id IS NOT ?',
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
   * @throws OrderSyncError CONFIG_INVALID while calls may be open and a value comes under another name: its open calls
   *   are counted under the old one
   */
  async adoptKeys(keys: KeysInUse): Promise<KeysAdopted> {
    return inTransaction(this.#database, () => {
      const known = this.#statements.all.all();
      const isFirst = known.length === 0;
      const configured = keys.keys.map(({ name, value }) => ({ name, print: keyFingerprint(this.#namespace, value) }));
      const changed = configured.filter(({ name, print }) => known.find((it) => it.keyName === name)?.print !== print);
      const moves = changed.flatMap(({ name, print }): Move[] => {
        const from = known.find((it) => it.print === print);
        return from === undefined ? [] : [{ from: from.keyName, to: name }];
      });
      const held = moves.find(({ from }) => this.#statements.isHeld.get(from, from) !== undefined);
      if (keys.whileRunning && held !== undefined) refuseMove(held);
      const replaced = changed.filter(({ name }) => known.some((it) => it.keyName === name && it.print !== null));
      this.#move(moves, replaced);
      for (const { name, print } of configured) this.#statements.print.run({ name, print });
      const names = configured.map(({ name }) => name);
      this.#statements.dropOthers.run({ names: JSON.stringify(names) });
      this.#pauses.keysChanged({
        configured: names,
        changed: isFirst ? [] : changed.map(({ name }) => name),
        nowMs: keys.nowMs,
      });
      return { replaced: replaced.map(({ name }) => name) };
    });
  }

  /** What the server asked binds the value it was said to; slots stay with the name as well, which is only safer. */
  #move(moves: readonly Move[], replaced: readonly { name: string }[]): void {
    const read = this.#database.prepare<[string], Record<string, unknown>>(
      `SELECT ${backOffColumns} FROM wholesale_keys WHERE key_name = ?`,
    );
    const rests = moves.map(({ from, to }) => ({ to, rest: read.get(from) }));
    for (const { name } of replaced) this.#statements.forgetBackOff.run(name);
    if (moves.length > 0) {
      const table = Object.fromEntries(moves.map(({ from, to }) => [from, to]));
      this.#statements.moveSlots.run({ moves: JSON.stringify(table) });
    }
    const write = this.#database.prepare(
      `INSERT INTO wholesale_keys (key_name, ${backOffColumns}) VALUES (:to, :boot_id, :stamped_mono, :blocked_until_mono,
         :throttled_until_mono, :throttle_length_ms, :rate_limited_at_ms)
       ON CONFLICT (key_name) DO UPDATE SET boot_id = excluded.boot_id, stamped_mono = excluded.stamped_mono,
         blocked_until_mono = excluded.blocked_until_mono, throttled_until_mono = excluded.throttled_until_mono,
         throttle_length_ms = excluded.throttle_length_ms, rate_limited_at_ms = excluded.rate_limited_at_ms`,
    );
    for (const { to, rest } of rests) if (rest !== undefined) write.run({ to, ...rest });
  }

  /** Called inside the transaction that closes the attempt which was turned away. */
  rateLimited(rest: KeyBackOff, at: { nowMono: number; bootId: string | null; nowMs: number }): void {
    const { nowMono, bootId, nowMs } = at;
    this.#statements.rest.run({ ...rest, nowMono, bootId, nowMs });
  }

  async recordBackOff(rest: KeyBackOff, at: { nowMono: number; bootId: string | null; nowMs: number }): Promise<void> {
    inTransaction(this.#database, () => this.rateLimited(rest, at));
  }

  async restoreBackOffs(restart: { nowMono: number; bootId: string | null }): Promise<readonly KeyBackOff[]> {
    return inTransaction(this.#database, () => {
      this.#statements.adoptBackOffs.run(restart);
      return this.#statements.rests.all();
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

  /** A slot for a call without an attempt. */
  async takeSlot(slot: { keyName: string; nowMono: number; bootId: string | null }): Promise<number> {
    return inTransaction(this.#database, () =>
      Number(this.#statements.takeSlot.run(slot.keyName, 'requests', null, slot.bootId, slot.nowMono).lastInsertRowid),
    );
  }

  async settleSlot(id: number, settledMono: number): Promise<void> {
    inTransaction(this.#database, () => this.#statements.settleSlot.run(settledMono, id));
  }

  /** Called inside the transaction that closes the attempt. Null: the call never left, and its slots are free. */
  settleAttempt(attemptId: number, settledMono: number | null, bootId: string | null): void {
    if (settledMono === null) this.#statements.freeSlots.run(attemptId);
    else this.#statements.settleSlots.run(settledMono, bootId, attemptId);
  }

  async restoreSlots(restart: { settledMono: number; bootId: string | null }): Promise<readonly BudgetSlot[]> {
    return inTransaction(this.#database, () => {
      this.#statements.adoptSlots.run(restart.settledMono, restart.bootId, restart.bootId);
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
