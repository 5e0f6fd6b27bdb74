import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { buildProgram } from '../../src/cli/commands/program.ts';
import { processContext } from '../../src/cli/context.ts';
import { examples } from '../../src/cli/examples.ts';
import { runHere } from './installation.ts';

const wordsOf = (text: string): string[] => text.match(/(?:"[^"]*"|[^\s"])+/g) ?? [];

/** Each command that does something, with its full name. */
function callable(command: Command, parents = ''): { name: string; command: Command }[] {
  return command.commands.flatMap((child) => {
    const name = `${parents}${child.name()}`;
    const own = child.commands.length === 0 || child.options.length > 0;
    return [...(own ? [{ name, command: child }] : []), ...callable(child, `${name} `)];
  });
}

const program = await buildProgram(processContext(() => undefined));
const commands = callable(program);

describe('the help of a command', () => {
  it('has an example for each command, and for no other', () => {
    expect(Object.keys(examples)).toEqual(commands.map(({ name }) => name));
  });

  it.each(commands)('shows an example that `$name` understands', async ({ name, command }) => {
    const { stdout } = await runHere([...name.split(' '), '--help']);
    const [, example = ''] = /^Example:\n {2}order-sync (.+)\n$/m.exec(stdout) ?? [];
    const called: string[] = [];
    command.action(() => void called.push(name));
    await program.parseAsync(wordsOf(example), { from: 'user' });
    expect(called).toEqual([name]);
  });

  it('marks what is required', async () => {
    const { stdout } = await runHere(['queue', 'pause', '--help']);
    expect(stdout.match(/^.*(?=\(required\)$)/gm)).toEqual([
      expect.stringContaining('(an eSIM product)'),
      expect.stringContaining('--reason <text>'),
    ]);
  });
});
