import { describe, expect, it } from 'vitest';
import type { Command } from 'commander';
import { buildProgram } from '../../src/cli/commands/program.ts';
import { processContext } from '../../src/cli/context.ts';
import { knownInstallation, type Installation } from './installation.ts';
import { fillOutbox } from './sample-outbox.ts';

/** The commands that act on many, each with a filter that finds something, and what it needs first. */
const bulk: Readonly<Record<string, { readonly filter: string[]; readonly first?: string[] }>> = {
  'orders ack': { filter: ['--source', 'shop1'] },
  'orders retry': { filter: ['--source', 'shop1'] },
  'orders hold': { filter: ['--source', 'shop1'] },
  'orders release': {
    filter: ['--source', 'shop1'],
    first: ['orders', 'hold', '--source', 'shop1', '--yes', '--reason', 'stocktaking'],
  },
  'orders cancel': { filter: ['--source', 'shop1'] },
  'results rewrite': { filter: ['--all'] },
};

const namesOf = (command: Command, parents: readonly string[] = []): readonly string[] =>
  command.commands.flatMap((child) => {
    const path = [...parents, child.name()];
    const isBulk = child.options.some(({ long }) => long === '--yes');
    return [...(isBulk ? [path.join(' ')] : []), ...namesOf(child, path)];
  });

async function decisions(outbox: Installation): Promise<number> {
  const { stdout } = await outbox.run('audit', 'list', '--json');
  return JSON.parse(stdout).audit.length;
}

it('every command that acts on many is tried here', async () => {
  const program = await buildProgram(processContext(() => undefined));
  expect(new Set(namesOf(program))).toEqual(new Set(Object.keys(bulk)));
});

describe.each(Object.entries(bulk))('`%s` with a filter', (name, { filter, first }) => {
  const why = ['--reason', 'asked by the shop'];
  async function filled() {
    const outbox = knownInstallation();
    await fillOutbox(outbox);
    if (first !== undefined) await outbox.run(...first);
    const before = await decisions(outbox);
    const run = (...more: string[]) => outbox.run(...name.split(' '), ...filter, ...more);
    return { run, decided: async () => (await decisions(outbox)) - before };
  }

  it.each([
    ['without --yes', []],
    ['with --dry-run', ['--dry-run']],
    ['with --dry-run, whatever else is given', ['--dry-run', '--yes', ...why]],
  ])('only shows what it finds, and needs no reason: %s', async (_how, options) => {
    const { run, decided } = await filled();
    const { code, stdout } = await run(...options);
    expect([code, stdout]).toEqual([0, expect.stringContaining('; do it with --yes\n')]);
    expect(await decided()).toBe(0);
  });

  it('acts with --yes, and asks for the reason before', async () => {
    const { run, decided } = await filled();
    const unexplained = await run('--yes');
    expect([unexplained.code, unexplained.stderr]).toEqual([
      2,
      expect.stringContaining('--reason'),
    ]);
    expect(await decided()).toBe(0);
    const { stdout } = await run('--yes', ...why);
    expect(stdout).not.toContain('--yes');
    expect(await decided()).toBeGreaterThan(0);
  });
});
