interface Jump {
  readonly atMs: number;
  readonly deltaMs: number;
}

/**
 * The steps of the wall clock that no worker can tell from time that passed: it did not run, or it
 * ended before it looked at the clock again.
 */
export class ClockJumps {
  readonly #nowMs: () => number;
  /** How often the worker looks at the clock. */
  readonly #everyMs: number;
  readonly #unnoticed: Jump[] = [];
  #last: Jump | null = null;
  #isDown = true;

  constructor(nowMs: () => number, everyMs: number) {
    this.#nowMs = nowMs;
    this.#everyMs = everyMs;
  }

  workerUp(): void {
    this.#isDown = false;
  }

  /**
   * Returns by how much the clock was set without being noticed, in ms; what was done since then
   * has the time before, too.
   */
  workerDown(): number {
    this.#isDown = true;
    const atMs = this.#nowMs();
    const last = this.#last;
    this.#last = null;
    if (last === null || atMs - last.atMs > this.#everyMs + 1000) return 0;
    this.#unnoticed.push({ ...last, atMs });
    return last.deltaMs;
  }

  jumped(deltaMs: number): void {
    const jump = { atMs: this.#nowMs(), deltaMs };
    if (this.#isDown) this.#unnoticed.push(jump);
    else this.#last = jump;
  }

  /** By how much what was done at that time looks older than it is, in ms. */
  unnoticedSince(atMs: number): number {
    const later = this.#unnoticed
      .filter((jump) => jump.atMs >= atMs)
      .map(({ deltaMs }) => Math.max(0, deltaMs));
    return later.reduce((sum, deltaMs) => sum + deltaMs, 0);
  }
}
