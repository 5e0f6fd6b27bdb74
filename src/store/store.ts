import type { OutboxProgress } from '../core/outbox-progress.ts';
import type { Alerts } from './alerts/alerts.ts';
import type { Intake } from './intake/intake.ts';
import type { Operator } from './operator/operator.ts';
import type { OutboxReader } from './read/outbox-reader.ts';
import type { Results } from './results/results.ts';
import type { CodeReads } from './sealing/code-reads.ts';
import type { CodeRetention } from './sealing/code-retention.ts';
import type { Sealing } from './sealing/sealing.ts';
import type { Storefronts } from './storefronts/storefronts.ts';
import type { Submission } from './submission/submission.ts';
import type { UpkeepResults } from './sqlite/upkeep-results.ts';
import type { StoredTimes } from './time/stored-times.ts';

/**
 * The outbox, by role. Each method of a role is a whole business step: one transaction, which is on disk when its
 * promise resolves. A step that fails leaves nothing behind. All roles but the reader are asynchronous, so that a store
 * on a server can implement them.
 */
export interface Store {
  readonly intake: Intake;
  readonly storefronts: Storefronts;
  readonly submission: Submission;
  readonly results: Results;
  readonly operator: Operator;
  readonly times: StoredTimes;
  readonly sealing: Sealing;
  readonly codeReads: CodeReads;
  readonly codeRetention: CodeRetention;
  readonly alerts: Alerts;
  readonly upkeep: UpkeepResults;
  readonly read: OutboxReader;
  /** Records a run of the worker; returns its id. */
  beginIncarnation(run: { bootId: string | null; version: string; nowMs: number }): Promise<number>;
  endIncarnation(id: number, nowMs: number): Promise<void>;
  /**
   * How far this outbox has come, as it is on disk now. `replaced`: the same of the lost outbox whose place it has taken; null
   * if there was none, or if it is not known.
   */
  progress(): Promise<OutboxProgress & { readonly replaced: OutboxProgress | null }>;
  /** Free space on the disk of the database, in bytes: no call may be made whose outcome cannot be recorded. */
  freeBytes(): Promise<number>;
  /** How large the database and its write-ahead log are on the disk, in bytes. */
  fileSizes(): Promise<{ readonly databaseBytes: number; readonly walBytes: number }>;
  /** Throws when the file on disk is not the one that was opened, or when it cannot be written any more. */
  checkHealth(): Promise<void>;
  close(): Promise<void>;
}
