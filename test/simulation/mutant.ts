/** A bug planted into a copy of the program. */
export interface Mutant {
  readonly name: string;
  /** The file below `src/`. */
  readonly file: string;
  /** Each text must be there, however its lines are broken, and is replaced wherever it is. */
  readonly changes: readonly (readonly [find: string, replace: string])[];
}

/**
 * A pattern for the text as a formatter may break it: any white space, and a comma before a closing
 * bracket.
 */
const patternOf = (text: string): RegExp =>
  new RegExp(
    text
      .trim()
      .split(/\s+|(?<=[([{])|(?=[)\]}])|(?=\.\w)/)
      .filter((part) => part !== '')
      .map(
        (part) =>
          part.replace(/,$/, '').replace(/[\\^$.*+?()[\]{}|]/g, '\\$&') +
          (part.endsWith(',') ? ',' : ',?'),
      )
      .join(String.raw`\s*`)
      .replace(/,\?$/, ''),
    'g',
  );

/**
 * The file with the bug in it.
 * @throws Error when a text that the bug replaces is missing
 */
export function withMutant({ file, changes }: Mutant, text: string): string {
  return changes.reduce((planted, [find, replace]) => {
    const pattern = patternOf(find);
    if (!pattern.test(planted))
      throw new Error(`${file} has no "${find}": change the mutant to the new text`);
    return planted.replaceAll(pattern, () => replace);
  }, text);
}
