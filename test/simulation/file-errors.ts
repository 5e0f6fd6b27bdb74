import type { Coverage } from './coverage.ts';
import type { FileErrorPlan } from './sim-mount.ts';

/** The errors of the file system of a plan, one after the other. */
export class FileErrors {
  #plan: readonly FileErrorPlan[];
  readonly #coverage: Coverage;
  readonly #trace: (what: string) => void;
  #calls = 0;
  #times = 0;

  constructor(plan: readonly FileErrorPlan[], coverage: Coverage, trace: (what: string) => void) {
    this.#plan = plan;
    this.#coverage = coverage;
    this.#trace = trace;
  }

  /** The error of this call; null: none. */
  of(port: string): FileErrorPlan['code'] | null {
    const [error, ...later] = this.#plan;
    if (error === undefined) return null;
    this.#calls += 1;
    if (this.#calls < error.afterCalls) return null;
    if (this.#times === 0 && error.atCall !== undefined && error.atCall !== port) return null;
    this.#trace(`${error.code} at ${port}`);
    this.#coverage.hit(`file error ${port}`);
    this.#times += 1;
    if (this.#times >= error.times) {
      this.#plan = later;
      this.#calls = 0;
      this.#times = 0;
    }
    return error.code;
  }

  end(): void {
    this.#plan = [];
  }
}
