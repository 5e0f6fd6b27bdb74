import { Command, CommanderError } from 'commander';
import { programVersion } from '../../ops/program-version.ts';
import { processContext, type CliContext } from '../context.ts';
import { exitCodes, reportError, reportUsage, type ExitCode } from '../errors.ts';

/** Adds one command, or a group of them, to the program. */
type AddCommand = (program: Command, context: CliContext) => void;

/**
 * The commands, in the order of `--help`. A command loads its modules when it is called, which saves most of the start of
 * a short command.
 */
const commands: Readonly<Record<string, () => Promise<AddCommand>>> = {
  run: async () => (await import('./run.ts')).addRun,
  demo: async () => (await import('./demo.ts')).addDemo,
  init: async () => (await import('./init.ts')).addInit,
  'check-config': async () => (await import('./check-config.ts')).addCheckConfig,
  submit: async () => (await import('./submit.ts')).addSubmit,
  orders: async () => (await import('./orders.ts')).addOrders,
  audit: async () => (await import('./audit.ts')).addAudit,
  queue: async () => (await import('./queue.ts')).addQueue,
  results: async () => (await import('./results.ts')).addResults,
  reconcile: async () => (await import('./reconcile.ts')).addReconcile,
  skus: async () => (await import('./skus.ts')).addSkus,
  doctor: async () => (await import('./doctor.ts')).addDoctor,
  health: async () => (await import('./health.ts')).addHealth,
  reload: async () => (await import('./reload.ts')).addReload,
  seal: async () => (await import('./seal.ts')).addSeal,
  db: async () => (await import('./db.ts')).addDb,
  wire: async () => (await import('./wire.ts')).addWire,
  sandbox: async () => (await import('./sandbox.ts')).addSandbox,
};

const versionText = `order-sync ${programVersion} on Node ${process.versions.node}`;
const versionOptions = ['-V', '--version'] as const;

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
    await (await buildProgram(context, argv[0], json)).parseAsync(argv, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (!(error instanceof CommanderError)) return reportError(error, context.stderr, json);
    // Commander also throws for `--help` and `--version`.
    if (error.exitCode === 0) return exitCodes.ok;
    return json ? reportUsage(error.message, context.stderr) : exitCodes.usage;
  }
}

/**
 * @param called the first argument: of a command that exists only that one is loaded, else all, for help and suggestions
 */
export async function buildProgram(context: CliContext, called?: string, json = false): Promise<Command> {
  const program = new Command('order-sync')
    .description('Buys what a shop sold from a Wholesale Ordering API, each order exactly once.')
    .version(versionText, versionOptions.join(', '), 'print the versions of order-sync and of Node')
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
  if (versionOptions.some((option) => option === called)) return program;
  const one = called !== undefined && Object.hasOwn(commands, called) ? commands[called] : undefined;
  for (const load of one === undefined ? Object.values(commands) : [one]) (await load())(program, context);
  return program;
}
