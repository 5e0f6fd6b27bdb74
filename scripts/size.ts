/** Reports how large the project is. Nothing fails because of these numbers. */
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { processContext } from '../src/cli/context.ts';
import { buildProgram } from '../src/cli/commands/program.ts';
import { configKeys } from '../src/config/schema-tree.ts';

const root = resolve(import.meta.dirname, '..');
const textOf = (path: string): string => readFileSync(join(root, path), 'utf8');
/** Without white space, the width of a line and the number of lines make no difference. */
const charactersOf = (pattern: string): number =>
  globSync(pattern, { cwd: root }).reduce(
    (sum, path) => sum + textOf(path).replaceAll(/\s/g, '').length,
    0,
  );
const wordsOf = (pattern: string): number =>
  globSync(pattern, { cwd: root }).reduce(
    (sum, path) => sum + (textOf(path).match(/\S+/g) ?? []).length,
    0,
  );

/**
 * The names of the API describe the API, `sandbox` is the other program, and `trial` is refused
 * without it: none counts.
 */
const isSetting = (path: string): boolean => !/^(wholesale\.wire|sandbox|trial)\b/.test(path);

/** What a user can set: sections and lists of sections are places of keys. */
const keys = configKeys().filter(
  ({ path, node }) =>
    isSetting(path) && node.properties === undefined && node.items?.properties === undefined,
);

/** Groups of commands are not counted. */
function countCommands({ commands }: Command): number {
  return commands.reduce(
    (sum, child) => sum + (child.commands.length === 0 ? 1 : countCommands(child)),
    0,
  );
}

const print = (what: string, count: number): void =>
  void process.stdout.write(`${what.padEnd(34)} ${count.toLocaleString('en').padStart(10)}\n`);
const modules = globSync('src/*/', { cwd: root }).map(
  (path) => [path, charactersOf(`${path}/**/*.ts`)] as const,
);
for (const [path, count] of modules.toSorted(([, a], [, b]) => b - a))
  print(`characters of ${path}`, count);
const ofTests = charactersOf('sandbox/test/**/*.ts');
print('characters of src', charactersOf('src/**/*.ts'));
print('characters of sandbox', charactersOf('sandbox/**/*.ts') - ofTests);
print('characters of tests', charactersOf('test/**/*.ts') + ofTests);
print('characters of SQL', charactersOf('src/**/*.sql'));
print('words of README.md and docs', wordsOf('{README.md,docs/**/*.md}'));
print('config keys', keys.length);
print('commands', countCommands(await buildProgram(processContext(() => undefined))));
