import { inTransaction, type Sqlite } from '../sqlite/database.ts';
import type { BudgetSlot } from '../store.ts';

/** Calls that count against the limits of a key. Kept until their window is over, so that a restart remembers them. */
export class BudgetTable {
  readonly #database: Sqlite;
  readonly #statements;

  constructor(database: Sqlite) {
    this.#database = database;
    this.#statements = {
      take: database.prepare(
        'INSERT INTO budget_slots (key_name, limit_name, attempt_id, boot_id, taken_mono) VALUES (?, ?, ?, ?, ?)',
      ),
      settle: database.prepare(
        'UPDATE budget_slots SET settled_mono = ?, boot_id = ? WHERE attempt_id = ? AND settled_mono IS NULL',
      ),
      free: database.prepare('DELETE FROM budget_slots WHERE attempt_id = ?'),
      settleOne: database.prepare('UPDATE budget_slots SET settled_mono = ? WHERE id = ?'),
      adopt: database.prepare(
        'UPDATE budget_slots SET settled_mono = ?, boot_id = ? WHERE settled_mono IS NULL OR boot_id IS NULL OR boot_id IS NOT ?',
      ),
      all: database.prepare<[], BudgetSlot>(
        'SELECT key_name AS keyName, limit_name AS limitName, settled_mono AS settledMono FROM budget_slots ORDER BY settled_mono',
      ),
      forget: database.prepare(
        'DELETE FROM budget_slots WHERE settled_mono IS NOT NULL AND boot_id IS ? AND settled_mono < ?',
      ),
    };
  }

  /** A spending call takes a slot of both limits at once (Spec 8). Called inside the transaction of its attempt. */
  take(slot: { keyName: string; attemptId: number; spends: boolean; takenMono: number; bootId: string | null }): void {
    const { keyName, attemptId, bootId, takenMono } = slot;
    this.#statements.take.run(keyName, 'requests', attemptId, bootId, takenMono);
    if (slot.spends) this.#statements.take.run(keyName, 'orders', attemptId, bootId, takenMono);
  }

  /** A slot for a call without an attempt. */
  takeAlone(slot: { keyName: string; nowMono: number; bootId: string | null }): number {
    return inTransaction(this.#database, () =>
      Number(this.#statements.take.run(slot.keyName, 'requests', null, slot.bootId, slot.nowMono).lastInsertRowid),
    );
  }

  settleAlone(id: number, settledMono: number): void {
    inTransaction(this.#database, () => this.#statements.settleOne.run(settledMono, id));
  }

  /** Called inside the transaction that closes the attempt. Null: the call never left, and its slots are free. */
  settleAttempt(attemptId: number, settledMono: number | null, bootId: string | null): void {
    if (settledMono === null) this.#statements.free.run(attemptId);
    else this.#statements.settle.run(settledMono, bootId, attemptId);
  }

  restore(restart: { settledMono: number; bootId: string | null }): readonly BudgetSlot[] {
    return inTransaction(this.#database, () => {
      this.#statements.adopt.run(restart.settledMono, restart.bootId, restart.bootId);
      return this.#statements.all.all();
    });
  }

  forget(freeBeforeMono: number, bootId: string | null): void {
    inTransaction(this.#database, () => this.#statements.forget.run(bootId, freeBeforeMono));
  }
}
