import { Command, CommanderError } from 'commander';
import { programVersion } from '../ops/program-version.ts';
import { addCheckConfig } from './commands/check-config.ts';
import { addDb } from './commands/db.ts';
import { addDemo } from './commands/demo.ts';
import { addHealth } from './commands/health.ts';
import { addInit } from './commands/init.ts';
import { addOrders } from './commands/orders.ts';
import { addQueue } from './commands/queue.ts';
import { addReconcile } from './commands/reconcile.ts';
import { addReload } from './commands/reload.ts';
import { addResults } from './commands/results.ts';
import { addRun } from './commands/run.ts';
import { addSandbox } from './commands/sandbox.ts';
import { addSkus } from './commands/skus.ts';
import { addSubmit } from './commands/submit.ts';
import { addVersion } from './commands/version.ts';
import { addWire } from './commands/wire.ts';
import { processContext, type CliContext } from './context.ts';
import { exitCodes, reportError, reportUsage, type ExitCode } from './errors.ts';

/** Adds one command, or a group of them, to the program. In the order of `--help`. */
const commands: readonly ((program: Command, context: CliContext) => void)[] = [
  addRun,
  addDemo,
  addInit,
  addCheckConfig,
  addSubmit,
  addOrders,
  addQueue,
  addResults,
  addReconcile,
  addSkus,
  addHealth,
  addReload,
  addDb,
  addWire,
  addSandbox,
  addVersion,
];

/**
 * Runs one command. Resolves to an exit code (docs/cli.md); it never ends the process itself, and never throws.
 * @param streams used by tests instead of the streams and the clock of the process
 */
export async function runCommandLine(
  argv: readonly string[],
  streams?: Pick<CliContext, 'stdout' | 'stderr' | 'clock'>,
): Promise<ExitCode> {
  let exitCode: ExitCode = exitCodes.ok;
  const context: CliContext = {
    ...processContext((code) => {
      exitCode = code;
    }),
    ...streams,
  };
  // Known before the arguments are parsed: a usage error is JSON for a program that asked for JSON.
  const json = argv.includes('--json');
  try {
    await buildProgram(context, json).parseAsync([...argv], { from: 'user' });
    return exitCode;
  } catch (error) {
    if (!(error instanceof CommanderError)) return reportError(error, context.stderr, json);
    // Commander also throws for `--help` and `--version`.
    if (error.exitCode === 0) return exitCodes.ok;
    return json ? reportUsage(error.message, context.stderr) : exitCodes.usage;
  }
}

export function buildProgram(context: CliContext, json = false): Command {
  const program = new Command('order-sync')
    .description('Buys what a shop sold from a Wholesale Ordering API, each order exactly once.')
    .version(programVersion, '-V, --version', 'print the version')
    .helpCommand('help [command]', 'show how a command is used')
    .exitOverride()
    .showHelpAfterError(json ? false : '(see `order-sync --help`)')
    .configureOutput({
      writeOut: (text) => context.stdout.write(text),
      writeErr: (text) => context.stderr.write(text),
      outputError: (text, write) => json || write(text),
      getOutHasColors: () => false,
      getErrHasColors: () => false,
      getOutHelpWidth: () => 100,
      getErrHelpWidth: () => 100,
    });
  for (const add of commands) add(program, context);
  return program;
}
