interface Jump {
  readonly atMs: number;
  readonly deltaMs: number;
}

/**
 * The steps of the wall clock that no worker can tell from time in which the machine was off: they
 * came between the last mark of its steady time and the next start of the machine.
 */
export class ClockJumps {
  readonly #nowMs: () => number;
  /** How often the worker writes a mark. */
  readonly #everyMs: number;
  readonly #unnoticed: Jump[] = [];
  #jumps: Jump[] = [];

  constructor(nowMs: () => number, everyMs: number) {
    this.#nowMs = nowMs;
    this.#everyMs = everyMs;
  }

  /** A worker has started. @param isOtherRun in another run of the machine, as far as it can tell */
  workerUp(isOtherRun: boolean): void {
    if (isOtherRun) this.#unnoticed.push(...this.#jumps);
    this.#jumps = [];
  }

  workerDown(): void {
    const atMs = this.#nowMs();
    this.#jumps = this.#jumps
      .filter((jump) => atMs - jump.atMs <= this.#everyMs + 1000)
      .map(({ deltaMs }) => ({ atMs, deltaMs }));
  }

  jumped(deltaMs: number): void {
    this.#jumps.push({ atMs: this.#nowMs(), deltaMs });
  }

  /** By how much what was done at that time looks older than it is, in ms. */
  unnoticedSince(atMs: number): number {
    const later = this.#unnoticed
      .filter((jump) => jump.atMs >= atMs)
      .map(({ deltaMs }) => Math.max(0, deltaMs));
    return later.reduce((sum, deltaMs) => sum + deltaMs, 0);
  }
}
