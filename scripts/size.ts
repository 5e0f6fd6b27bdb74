/**
 * Prints how large the project is and ends with 1 when it is larger than its limits. `--report` only prints.
 */
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { processContext } from '../src/cli/context.ts';
import { buildProgram } from '../src/cli/commands/program.ts';
import { configKeys } from '../src/config/schema-tree.ts';
import { folderPairs } from './imports.ts';

/** New features raise the limit of `src` by what was agreed for them; all else must fit. */
const limits = {
  'lines of src': 45_352,
  'words of docs': 35_600,
  'words of README': 700,
  'config keys': 136,
  commands: 34,
  'folder pairs': 0,
};

const root = resolve(import.meta.dirname, '..');
const textOf = (path: string): string => readFileSync(join(root, path), 'utf8');

/** The lines of each module, in order of size. */
function linesByModule(): Map<string, number> {
  const lines = new Map<string, number>();
  for (const path of globSync('src/**/*.ts', { cwd: root })) {
    const module = path.split('/')[1] ?? '';
    lines.set(module, (lines.get(module) ?? 0) + textOf(path).split('\n').length - 1);
  }
  return new Map([...lines].toSorted(([, a], [, b]) => b - a));
}

const wordsOf = (path: string): number =>
  textOf(path)
    .split(/\s+/)
    .filter((word) => word !== '').length;

/** The names of the API describe the API, `sandbox` is the other program, and `trial` is refused without it: none counts. */
const isSetting = (path: string): boolean => !/^(wholesale\.wire|sandbox|trial)\b/.test(path);

/** What a user can set: sections and lists of sections are places of keys. */
function countConfigKeys(): number {
  return configKeys().filter(
    ({ path, node }) => isSetting(path) && node.properties === undefined && node.items?.properties === undefined,
  ).length;
}

/** Groups of commands are not counted. */
function countCommands({ commands }: Command): number {
  return commands.reduce((sum, child) => sum + (child.commands.length === 0 ? 1 : countCommands(child)), 0);
}

const lines = linesByModule();
const pages = ['README.md', ...globSync('docs/*.md', { cwd: root })];
const pairs = folderPairs(join(root, 'src'));
const found: Readonly<Record<string, number>> = {
  'lines of src': [...lines.values()].reduce((sum, count) => sum + count, 0),
  'words of docs': pages.reduce((sum, page) => sum + wordsOf(page), 0),
  'words of README': wordsOf('README.md'),
  'config keys': countConfigKeys(),
  commands: countCommands(await buildProgram(processContext(() => undefined))),
  'folder pairs': pairs.length,
};

const print = (text: string): void => void process.stdout.write(`${text}\n`);
print([...lines].map(([module, count]) => `${module} ${count}`).join(' · '));
for (const { folders, there, back } of pairs) print(`${folders.join(' and ')} import each other: ${there}/${back}`);
for (const [name, limit] of Object.entries(limits)) {
  const count = found[name] ?? Number.NaN;
  const isOver = !(count <= limit);
  print(`${name.padEnd(14)} ${String(count).padStart(6)}, limit ${limit}${isOver ? ': OVER THE LIMIT' : ''}`);
  if (isOver && !process.argv.includes('--report')) process.exitCode = 1;
}
