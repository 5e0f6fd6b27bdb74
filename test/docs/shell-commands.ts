import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

export const projectRoot = resolve(import.meta.dirname, '../..');

export interface ShellCommand {
  /** The page that shows the command, relative to the project. */
  readonly page: string;
  readonly text: string;
}

/** The pages for users, relative to the project. */
export const pages = (): string[] => [
  'README.md',
  'CONTRIBUTING.md',
  'data/README.md',
  ...readdirSync(join(projectRoot, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

/** The code blocks of a page in this language. */
export function examplesIn(page: string, language: string): string[] {
  const text = readFileSync(join(projectRoot, page), 'utf8');
  return [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].flatMap(([, fence, block = '']) =>
    fence === language ? [block] : [],
  );
}

/** Every command in a `sh` block of the pages for users. */
export function documentedCommands(): ShellCommand[] {
  return pages().flatMap((page) =>
    examplesIn(page, 'sh')
      .flatMap(commandsOf)
      .map((text) => ({ page, text })),
  );
}

/**
 * The commands of a block: one a line. A line that ends with a backslash or within quotes
 * continues.
 */
function commandsOf(block: string): string[] {
  const commands: string[] = [];
  let open = '';
  for (const line of block.split('\n')) {
    const text = open === '' ? line.trim() : `${open}\n${line}`;
    const continues = text.endsWith('\\') || text.split("'").length % 2 === 0;
    open = continues && !text.startsWith('#') ? text : '';
    if (open === '' && text !== '' && !text.startsWith('#')) commands.push(text);
  }
  return commands;
}
