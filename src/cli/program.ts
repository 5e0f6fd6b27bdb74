import { Command } from 'commander';

/**
 * Runs one command and promises an exit code (docs/cli.md): it never ends the process itself.
 */
export async function runCommandLine(argv: readonly string[]): Promise<number> {
  const program = new Command('order-sync');
  program.exitOverride();
  await program.parseAsync([...argv], { from: 'user' });
  return 0;
}
