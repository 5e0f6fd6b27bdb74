/**
 * After the loss of an outbox, what is looked up before an entry is sent. 0: nothing so far; 1: its own reference; 2: the
 * reference of what may have taken its place; 3: all of it was looked up.
 */
export type RecoveryStage = 0 | 1 | 2 | 3;
