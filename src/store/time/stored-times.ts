/** The stored times that are waited for or measured. They are times of the wall clock, and move with it. */
export interface StoredTimes {
  /**
   * Moves every stored time that is waited for or measured by a step of the wall clock. Times that tell what happened stay
   * as the clock showed them. No pending entry is due later than now.
   * @param step.stepMs negative for a step back, 0 for none
   * @param step.nowMs the time after the step
   * @param step.onMoved called right after the commit, before any other code runs
   * @returns how many rows were moved
   */
  follow(step: { stepMs: number; nowMs: number; onMoved?: () => void }): Promise<number>;
  /** The first deadline of an entry for which nothing was charged; null when none has one. */
  nextDeadlineMs(): Promise<number | null>;
  /** The latest time that was recorded as seen, in the time of today's clock; null in a new database. */
  lastSeenMs(): Promise<number | null>;
  /** Records that the wall clock has shown this time. */
  recordSeen(nowMs: number): Promise<void>;
}
