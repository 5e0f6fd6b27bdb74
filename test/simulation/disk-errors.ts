import type { Coverage } from './coverage.ts';
import type { DiskErrorPlan } from './run-plan.ts';
import type { SqliteFault } from './sqlite-tap.ts';

/** Whether a caller sees an error of SQLite like this. */
export function isDiskError(error: unknown): boolean {
  return (
    error instanceof Error &&
    'code' in error &&
    /^(DATABASE_WRITE_FAILED|DATABASE_BUSY|DISK_FULL|SQLITE_)/.test(String(error.code))
  );
}

/** The disk errors of a plan, one after the other. */
export class DiskErrors {
  readonly #plan: readonly DiskErrorPlan[];
  readonly #coverage: Coverage;
  readonly #trace: (what: string) => void;
  #next = 0;
  #calls = 0;
  #times = 0;

  constructor(plan: readonly DiskErrorPlan[], coverage: Coverage, trace: (what: string) => void) {
    this.#plan = plan;
    this.#coverage = coverage;
    this.#trace = trace;
  }

  /** The error for the next call of the store; null: none. */
  forCall(name: string): SqliteFault | null {
    const error = this.#plan[this.#next];
    if (error === undefined) return null;
    this.#calls += 1;
    if (error.atCall !== undefined && error.atCall !== name) return null;
    return this.#calls < error.afterCalls ? null : error;
  }

  /** Returns whether the disk was full or locked: then the worker continues by itself. */
  struck(name: string): boolean {
    const error = this.#plan[this.#next];
    if (error === undefined) return false;
    this.#trace(`${error.code} at a ${error.where} of ${name}`);
    this.#coverage.hit(`disk error ${error.where} ${name}`);
    this.#times += 1;
    if (this.#times >= error.times) {
      this.#next += 1;
      this.#calls = 0;
      this.#times = 0;
    }
    return error.code === 'SQLITE_FULL' || error.code === 'SQLITE_BUSY';
  }
}
