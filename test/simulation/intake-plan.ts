import type { AcceptableLine } from '../../src/core/order/order-request.ts';
import type { FileErrorPlan } from './sim-mount.ts';

/** A line as a sender writes it, perhaps with a mistake because of which it must not be accepted. */
export interface SentLine {
  readonly line: AcceptableLine;
  readonly mistake: 'none' | 'quantity' | 'type';
}

export type FileFormat = 'csv' | 'ndjson' | 'json';

/** An order file that a shop puts into the inbox. */
export interface FilePlan {
  readonly name: string;
  readonly format: FileFormat;
  readonly lines: readonly SentLine[];
  readonly atMs: number;
  /**
   * `renamed`: written under a temporary name, then renamed. `in_place`: written in pieces under its own name.
   * `late`: as `in_place`, with pauses in which it seems to be complete.
   */
  readonly style: 'renamed' | 'in_place' | 'late';
  /** What the marker says, where files have one. */
  readonly marker: 'empty' | 'full' | 'wrong';
  /** When the same file is uploaded again. */
  readonly againAtMs: readonly number[];
}

/** All that comes in through the real intake in one run. */
export interface IntakePlan {
  readonly ready: 'stable' | 'done_file';
  readonly files: readonly FilePlan[];
  /** How often a call to the file system takes some time. */
  readonly slowShare: number;
  readonly fileErrors: readonly FileErrorPlan[];
}

export const plainIntake: IntakePlan = { ready: 'stable', files: [], slowShare: 0, fileErrors: [] };
