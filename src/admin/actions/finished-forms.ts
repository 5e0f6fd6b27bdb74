/** So many forms are remembered, the last ones. */
const mostKept = 500;

/** What became of the forms that were submitted. A form that is submitted twice is performed once. */
export class FinishedForms<Outcome> {
  /** The one that was submitted first comes first. */
  readonly #kept = new Map<string, Promise<Outcome>>();

  /** @param id of the form and of its session; the outcome of an earlier submit of it is returned as it was */
  once(id: string, perform: () => Promise<Outcome>): Promise<Outcome> {
    const known = this.#kept.get(id);
    if (known !== undefined) return known;
    const outcome = perform();
    this.#kept.set(id, outcome);
    // What was refused or has failed may be tried again with the same form.
    outcome.catch(() => this.#kept.delete(id));
    for (const [oldest] of this.#kept) {
      if (this.#kept.size <= mostKept) break;
      this.#kept.delete(oldest);
    }
    return outcome;
  }

  find(id: string): Promise<Outcome> | null {
    return this.#kept.get(id) ?? null;
  }
}
