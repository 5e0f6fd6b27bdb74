/**
 * The events of a run, in order. Equal hashes show that a run was repeated; the lines are kept only
 * with `keep`.
 */
export class Trace {
  readonly #keep: boolean;
  readonly #nowMs: () => number;
  readonly lines: string[] = [];
  #low = 0x811c9dc5;
  #high = 0x01000193;
  /**
   * The time of the last event, and how it is shown: most events happen at the time of another one.
   */
  #shownMs = Number.NaN;
  #shown = '';

  constructor(keep: boolean, nowMs: () => number) {
    this.#keep = keep;
    this.#nowMs = nowMs;
  }

  add(what: string): void {
    const nowMs = this.#nowMs();
    if (nowMs !== this.#shownMs) this.#shown = (nowMs / 1000).toFixed(3).padStart(9);
    this.#shownMs = nowMs;
    const line = `${this.#shown} ${what}`;
    for (let index = 0; index < line.length; index += 1) {
      const code = line.charCodeAt(index);
      this.#low = Math.imul(this.#low ^ code, 0x01000193);
      this.#high = Math.imul(this.#high ^ code, 0x85ebca6b) + index;
    }
    if (this.#keep) this.lines.push(line);
  }

  get hash(): string {
    return `${(this.#low >>> 0).toString(16).padStart(8, '0')}${(this.#high >>> 0).toString(16).padStart(8, '0')}`;
  }
}
