import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, afterAll, describe, expect, it } from 'vitest';
import { installation, runProgram } from './installation.ts';

let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'order-sync-completion-'));
  for (const shell of ['bash', 'zsh', 'fish'])
    writeFileSync(join(folder, shell), (await runProgram(['completion', shell])).stdout);
});
afterAll(() => rmSync(folder, { recursive: true }));

/** What bash offers for the last of these words. */
function offered(...words: string[]): string[] {
  const script = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _order_sync; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const text = execFileSync('bash', ['-c', script, 'bash', join(folder, 'bash'), 'order-sync', ...words]).toString();
  return text.split('\n').filter((line) => line !== '');
}

describe('order-sync completion', () => {
  it('completes commands, the commands of a group, options and their values in bash', () => {
    expect(offered('ord')).toEqual(['orders']);
    expect(offered('orders', 'li')).toEqual(['list']);
    expect(offered('orders', 'list', '--sta')).toEqual(['--state']);
    expect(offered('orders', 'list', '--state', 'exp')).toEqual(['expired']);
    // An option before does not hide the command.
    expect(offered('orders', 'list', '--source', 'shop', '--att')).toEqual(['--attention']);
    // Leaves the names of files to the shell.
    expect(offered('orders', 'list', '--config', './conf')).toEqual([]);
  });

  const hasShell = (shell: string): boolean => {
    try {
      execFileSync(shell, ['-c', 'true']);
      return true;
    } catch {
      return false;
    }
  };
  for (const shell of ['zsh', 'fish'])
    it.skipIf(!hasShell(shell))(`prints a script that ${shell} can read (skipped where it is not installed)`, () => {
      expect(execFileSync(shell, ['-n', join(folder, shell)]).toString()).toBe('');
    });

  it('names every command, and the states of entries, for fish', () => {
    const script = readFileSync(join(folder, 'fish'), 'utf8');
    expect(script).toContain(
      "'__fish_seen_subcommand_from orders; and __fish_seen_subcommand_from list' -l state -x -a 'pending ",
    );
    expect(script).toContain("-f -a queue -d 'the outbox as a whole'");
  });
});

describe('a mistyped word', () => {
  it.each([
    [['ordres', 'list'], '(Did you mean orders?)'],
    [['orders', 'lsit'], '(Did you mean list?)'],
    [['orders', 'list', '--stat', 'held'], '(Did you mean --state?)'],
    [['orders', 'list', '--state', 'fulfiled'], '(Did you mean fulfilled?)'],
  ])('%j gets a suggestion', async (argv, suggestion) => {
    expect(await installation().run(...argv)).toMatchObject({ code: 2, stderr: expect.stringContaining(suggestion) });
  });

  it('gets it in JSON, too, and none when nothing is similar', async () => {
    const { stderr } = await installation().run('orders', 'list', '--json', '--state', 'fulfiled');
    expect(JSON.parse(stderr).error.message).toContain('(Did you mean fulfilled?)');
    expect((await installation().run('orders', 'list', '--state', 'sold')).stderr).not.toContain('Did you mean');
  });
});
