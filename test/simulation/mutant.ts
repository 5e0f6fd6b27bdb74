/** A bug planted into a copy of the program. */
export interface Mutant {
  readonly name: string;
  /** The file below `src/`. */
  readonly file: string;
  /** Each text must be there, and is replaced wherever it is. */
  readonly changes: readonly (readonly [find: string, replace: string])[];
}

/**
 * The file with the bug in it.
 * @throws Error when a text that the bug replaces is missing
 */
export function withMutant({ file, changes }: Mutant, text: string): string {
  return changes.reduce((planted, [find, replace]) => {
    if (!planted.includes(find)) throw new Error(`${file} has no "${find}": change the mutant to the new text`);
    return planted.replaceAll(find, () => replace);
  }, text);
}
