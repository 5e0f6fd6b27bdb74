import { statementOf, type Sqlite } from '../../store/sqlite/database.ts';
import { OutboxSteps } from '../../store/sqlite/outbox.ts';
import { stampBackOff, type KeyBackOff, type Stamp } from '../../store/wholesale-keys.ts';

interface SlotClaim extends Omit<Stamp, 'nowMs'> {
  readonly keyName: string;
  readonly step: 'send' | 'lookup';
}

interface SlotsEnd extends Pick<Stamp, 'bootId'> {
  readonly attemptId: number;
  /**
   * When the window of the slots began; null when the call surely never left, and they are free
   * again.
   */
  readonly slotsSettledMono: number | null;
}

export interface BudgetSlot {
  readonly keyName: string;
  readonly limitName: 'requests' | 'orders';
  readonly settledMono: number;
}

// A back-off that was stamped in another run of the machine lasts its full length again, from now
// on.
const restartBackOffs = statementOf<{ nowMono: number; bootId: string | null }, never>(
  `UPDATE wholesale_keys SET boot_id = :bootId, stamped_mono = :nowMono,
     blocked_until_mono = :nowMono + max(0, blocked_until_mono - stamped_mono),
     throttled_until_mono = :nowMono + max(0, throttled_until_mono - stamped_mono)
   WHERE stamped_mono IS NOT NULL AND (boot_id IS NULL OR boot_id IS NOT :bootId)`,
);
const selectBackOffs = statementOf<[], KeyBackOff>(
  `SELECT key_name AS keyName, blocked_until_mono AS blockedUntilMono, throttled_until_mono AS throttledUntilMono,
     throttle_length_ms AS throttleLengthMs
   FROM wholesale_keys WHERE stamped_mono IS NOT NULL ORDER BY key_name`,
);

// The slots of every call: taken before it, settled when it is over, deleted when their window is
// over.
const insertSlot = statementOf<
  [string, BudgetSlot['limitName'], number | null, string | null, number],
  never
>(
  'INSERT INTO budget_slots (key_name, limit_name, attempt_id, boot_id, taken_mono) VALUES (?, ?, ?, ?, ?)',
);
const settleSlot = statementOf<[number, number], never>(
  'UPDATE budget_slots SET settled_mono = ? WHERE id = ?',
);
const settleSlotsOfAttempt = statementOf<[number, string | null, number], never>(
  'UPDATE budget_slots SET settled_mono = ?, boot_id = ? WHERE attempt_id = ? AND settled_mono IS NULL',
);
const deleteSlotsOfAttempt = statementOf<[number], never>(
  'DELETE FROM budget_slots WHERE attempt_id = ?',
);
const settleOtherSlots = statementOf<{ settledMono: number; bootId: string | null }, never>(
  `UPDATE budget_slots SET settled_mono = :settledMono, boot_id = :bootId
   WHERE settled_mono IS NULL OR boot_id IS NULL OR boot_id IS NOT :bootId`,
);
const selectSlots = statementOf<[], BudgetSlot>(
  'SELECT key_name AS keyName, limit_name AS limitName, settled_mono AS settledMono FROM budget_slots ORDER BY settled_mono',
);
const deleteOldSlots = statementOf<[string | null, number], never>(
  'DELETE FROM budget_slots WHERE settled_mono IS NOT NULL AND boot_id IS ? AND settled_mono < ?',
);

/**
 * The slots that calls hold, and the back-off of each key. Slots are kept until their window is
 * over, so that a restart remembers them. The server counts its budget by the value of a key: when
 * a value comes under another name, its slots and its back-off move to that name.
 */
export class Budget extends OutboxSteps {
  /**
   * A call without an entry was rate-limited; the back-off after an attempt is recorded when the
   * attempt is closed.
   */
  readonly recordBackOff = this.step(({ database }, backOff: KeyBackOff, at: Stamp) =>
    stampBackOff(database, backOff, at),
  );

  /**
   * The back-off of each key after a 429; in another run of the machine, for its full length again
   * from now on.
   */
  readonly restoreBackOffs = this.step(
    ({ database }, restart: { nowMono: number; bootId: string | null }) => {
      restartBackOffs(database).run(restart);
      return selectBackOffs(database).all();
    },
  );

  /** A slot for a call that belongs to no entry, such as the catalogue; returns its id. */
  readonly takeSlot = this.step(
    ({ database }, { keyName, nowMono, bootId }: Omit<SlotClaim, 'step'>) =>
      Number(insertSlot(database).run(keyName, 'requests', null, bootId, nowMono).lastInsertRowid),
  );

  readonly settleSlot = this.step(({ database }, id: number, settledMono: number): void => {
    settleSlot(database).run(settledMono, id);
  });

  /**
   * The slots that earlier processes used. Slots that were still open count as settled at
   * `settledMono`. So do slots of another run of the machine, whose monotonic clock means nothing
   * now.
   */
  readonly restoreSlots = this.step(
    ({ database }, restart: { settledMono: number; bootId: string | null }) => {
      settleOtherSlots(database).run(restart);
      return selectSlots(database).all();
    },
  );

  readonly forgetSlots = this.step(
    ({ database }, freeBeforeMono: number, bootId: string | null): void => {
      deleteOldSlots(database).run(bootId, freeBeforeMono);
    },
  );
}

/**
 * A spending call takes a slot of both limits at once (Spec 8). Called inside the transaction of
 * its attempt.
 */
export function takeSlotsOfAttempt(
  database: Sqlite,
  attemptId: number,
  { keyName, step, nowMono, bootId }: SlotClaim,
): void {
  insertSlot(database).run(keyName, 'requests', attemptId, bootId, nowMono);
  if (step === 'send') insertSlot(database).run(keyName, 'orders', attemptId, bootId, nowMono);
}

/**
 * Called inside the transaction that closes the attempt. Null: the call never left, and its slots
 * are deleted.
 */
export function settleAttemptSlots(
  database: Sqlite,
  { attemptId, slotsSettledMono, bootId }: SlotsEnd,
): void {
  if (slotsSettledMono === null) deleteSlotsOfAttempt(database).run(attemptId);
  else settleSlotsOfAttempt(database).run(slotsSettledMono, bootId, attemptId);
}
