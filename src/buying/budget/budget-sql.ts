import { statementOf, type Sqlite } from '../../store/sqlite/database.ts';
import { OutboxSteps } from '../../store/sqlite/outbox.ts';
import { stampBackOff, type KeyBackOff } from '../../store/wholesale-keys.ts';

interface SlotClaim {
  readonly keyName: string;
  readonly step: 'send' | 'lookup';
}

interface SlotsEnd {
  readonly attemptId: number;
  /**
   * When the window of the slots began; null when the call surely never left, and they are free
   * again.
   */
  readonly slotsSettledMs: number | null;
}

export interface BudgetSlot {
  readonly keyName: string;
  readonly limitName: 'requests' | 'orders';
  readonly settledMs: number;
}

const selectBackOffs = statementOf<[], KeyBackOff>(
  `SELECT key_name AS keyName, blocked_until_steady AS blockedUntilMs, throttled_until_steady AS throttledUntilMs,
     throttle_length_ms AS throttleLengthMs
   FROM wholesale_keys WHERE blocked_until_steady IS NOT NULL ORDER BY key_name`,
);

// The slots of every call: taken before it, settled when it is over, deleted when their window is
// over.
const insertSlot = statementOf<[string, BudgetSlot['limitName'], number | null], never>(
  'INSERT INTO budget_slots (key_name, limit_name, attempt_id) VALUES (?, ?, ?)',
);
const settleSlot = statementOf<[number, number], never>(
  'UPDATE budget_slots SET settled_steady = ? WHERE id = ?',
);
const settleSlotsOfAttempt = statementOf<[number, number], never>(
  'UPDATE budget_slots SET settled_steady = ? WHERE attempt_id = ? AND settled_steady IS NULL',
);
const deleteSlotsOfAttempt = statementOf<[number], never>(
  'DELETE FROM budget_slots WHERE attempt_id = ?',
);
const settleOpenSlots = statementOf<[number], never>(
  'UPDATE budget_slots SET settled_steady = ? WHERE settled_steady IS NULL',
);
const selectSlots = statementOf<[], BudgetSlot>(
  'SELECT key_name AS keyName, limit_name AS limitName, settled_steady AS settledMs FROM budget_slots ORDER BY settled_steady',
);
const deleteOldSlots = statementOf<[number], never>(
  'DELETE FROM budget_slots WHERE settled_steady < ?',
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
  readonly recordBackOff = this.step(({ database }, backOff: KeyBackOff, nowMs: number) =>
    stampBackOff(database, backOff, nowMs),
  );

  /** The back-off of each key after a 429. */
  readonly restoreBackOffs = this.step(({ database }) => selectBackOffs(database).all());

  /** A slot for a call that belongs to no entry, such as the catalogue; returns its id. */
  readonly takeSlot = this.step(({ database }, keyName: string) =>
    Number(insertSlot(database).run(keyName, 'requests', null).lastInsertRowid),
  );

  readonly settleSlot = this.step(({ database }, id: number, settledMs: number): void => {
    settleSlot(database).run(settledMs, id);
  });

  /**
   * The slots that earlier processes used. Slots that were still open count as settled at
   * `settledMs`.
   */
  readonly restoreSlots = this.step(({ database }, settledMs: number) => {
    settleOpenSlots(database).run(settledMs);
    return selectSlots(database).all();
  });

  readonly forgetSlots = this.write(deleteOldSlots);
}

/**
 * A spending call takes a slot of both limits at once (Spec 8). Called inside the transaction of
 * its attempt.
 */
export function takeSlotsOfAttempt(
  database: Sqlite,
  attemptId: number,
  { keyName, step }: SlotClaim,
): void {
  insertSlot(database).run(keyName, 'requests', attemptId);
  if (step === 'send') insertSlot(database).run(keyName, 'orders', attemptId);
}

/**
 * Called inside the transaction that closes the attempt. Null: the call never left, and its slots
 * are deleted.
 */
export function settleAttemptSlots(
  database: Sqlite,
  { attemptId, slotsSettledMs }: SlotsEnd,
): void {
  if (slotsSettledMs === null) deleteSlotsOfAttempt(database).run(attemptId);
  else settleSlotsOfAttempt(database).run(slotsSettledMs, attemptId);
}
