/** A bug planted into a copy of the program. */
export interface Mutant {
  readonly name: string;
  /** The file below `src/`. */
  readonly file: string;
  /** Each text must be there, and is replaced wherever it is. */
  readonly changes: readonly (readonly [find: string, replace: string])[];
}
