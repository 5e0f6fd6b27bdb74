export interface Instruction {
  readonly name: string;
  readonly rest: string;
}

/** The instructions of a Dockerfile, with continued lines joined and comments removed. */
export function instructionsOf(text: string): readonly Instruction[] {
  const logical = text
    .split('\n')
    .filter((line) => !/^\s*#/.test(line))
    .join('\n')
    .replace(/\\\n/g, ' ');
  return logical
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [name = '', ...rest] = line.trim().split(/\s+/);
      return { name: name.toUpperCase(), rest: rest.join(' ') };
    });
}
