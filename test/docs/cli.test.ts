import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { processContext } from '../../src/cli/context.ts';
import { exitCodes } from '../../src/cli/errors.ts';
import { buildProgram } from '../../src/cli/commands/program.ts';

const page = readFileSync(resolve(import.meta.dirname, '../../docs/cli.md'), 'utf8');

const section = (heading: string): string =>
  page.split(/^#+ /m).find((text) => text.startsWith(heading)) ?? '';

/** The first groups of what matches below a heading. */
const named = (heading: string, pattern: RegExp): string[] =>
  [...section(heading).matchAll(pattern)].map(([, name = '']) => name);

/** Every command that does something, with its full name. */
function commandsOf(command: Command, prefix = ''): { name: string; options: string[] }[] {
  return command.commands.flatMap((child) => {
    const name = `${prefix}${child.name()}`;
    const own = { name, options: child.options.map((option) => option.long ?? '') };
    if (child.commands.length === 0) return [own];
    // A group with options is a command itself, as `sandbox` is.
    return [...(own.options.length > 0 ? [own] : []), ...commandsOf(child, `${name} `)];
  });
}

const program = await buildProgram(processContext(() => undefined));
const everywhere = ['--config', '--set', '--json'];

describe('docs/cli.md', () => {
  it('has every command, and no other', () => {
    const names = commandsOf(program).map(({ name }) => name);
    expect(named('The command line', /^- `([a-z -]+)`: /gm).toSorted()).toEqual(
      [...names, 'help'].toSorted(),
    );
  });

  it('names every option', () => {
    const missing = commandsOf(program).flatMap(({ name, options }) =>
      options
        .filter((option) => !everywhere.includes(option) && !page.includes(`\`${option}\``))
        .map((option) => `${name} ${option}`),
    );
    expect(missing).toEqual([]);
    for (const option of everywhere) expect(page).toContain(option);
  });

  it('has every exit code', () => {
    expect(named('Exit codes', /^- (\d+): /gm).map(Number)).toEqual(Object.values(exitCodes));
  });
});
