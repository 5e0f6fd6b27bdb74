import { Command, CommanderError } from 'commander';
import { programVersion } from '../../ops/program-version.ts';
import { processContext, type CliContext } from '../context.ts';
import { completeHelp } from '../examples.ts';
import { exitCodes, reportError, reportUsage, type ExitCode } from '../errors.ts';

type AddCommand = (program: Command, context: CliContext) => void;

/**
 * The commands, in the order of `--help`. A command loads its modules when it is called, which
 * saves most of the start of a short command.
 */
const commands = {
  run: async () => (await import('./run.ts')).addRun,
  demo: async () => (await import('./demo.ts')).addDemo,
  init: async () => (await import('./init.ts')).addInit,
  'check-config': async () => (await import('./check-config.ts')).addCheckConfig,
  submit: async () => (await import('./submit.ts')).addSubmit,
  orders: async () => (await import('./orders.ts')).addOrders,
  audit: async () => (await import('./audit.ts')).addAudit,
  queue: async () => (await import('./queue.ts')).addQueue,
  balance: async () => (await import('./queue.ts')).addBalance,
  results: async () => (await import('./results.ts')).addResults,
  reconcile: async () => (await import('./reconcile.ts')).addReconcile,
  skus: async () => (await import('./skus.ts')).addSkus,
  topups: async () => (await import('./topups.ts')).addTopups,
  doctor: async () => (await import('./doctor.ts')).addDoctor,
  health: async () => (await import('./health.ts')).addHealth,
  alerts: async () => (await import('./alerts.ts')).addAlerts,
  seal: async () => (await import('./seal.ts')).addSeal,
  db: async () => (await import('./db.ts')).addDb,
  wire: async () => (await import('./wire.ts')).addWire,
  sandbox: async () => (await import('./sandbox.ts')).addSandbox,
} satisfies Record<string, () => Promise<AddCommand>>;

type CommandName = keyof typeof commands;
const isCommand = (name: string): name is CommandName => Object.hasOwn(commands, name);

/** What each does, for the help of the program, which loads none of them. */
const descriptions: Readonly<Record<CommandName, string>> = {
  run: 'run the worker: take in orders, buy each exactly once, write the results back',
  demo: 'run the worker with an embedded sandbox of the API: all on this machine, nothing costs money',
  init: 'make the folders, the reference secret and the database of a new installation; keeps existing ones',
  'check-config':
    'check the configuration, also against the folders and the database that are there; report every mistake',
  submit: 'submit an order file without the watched folder, and print the references',
  orders: 'review the orders and decide on them; also while a worker runs',
  audit: 'who decided what, and why',
  queue: 'the outbox as a whole',
  balance: 'the money at the supplier',
  results: 'the results that are written back to the shop',
  reconcile: 'read shops back now, and take in the orders that their webhooks did not deliver',
  skus: 'the SKUs of the shops and the products that they stand for',
  topups: 'the plans with which an eSIM can be topped up, as the API lists them now',
  doctor: 'check everything that an order needs, with or without a running worker; buys nothing',
  health: 'ask the running worker for its health; for people, containers and scripts',
  alerts: 'the endpoints that get alerts',
  seal: 'the keys that seal delivered codes in the database',
  db: 'the database',
  wire: 'print the wire mapping in use: paths and names that the specification does not show',
  sandbox: 'run the sandbox alone: the Wholesale Ordering API on this machine; nothing costs money',
};

const versionText = `order-sync ${programVersion} on Node ${process.versions.node}`;

/**
 * Runs one command. Resolves to an exit code (docs/cli.md); it never ends the process itself, and
 * never throws.
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
    await (await buildProgram(context, [argv.find(isCommand)], json)).parseAsync(argv, {
      from: 'user',
    });
    return exitCode;
  } catch (error) {
    if (!(error instanceof CommanderError)) return reportError(error, context.stderr, json);
    // Commander also throws for `--help` and `--version`.
    if (error.exitCode === 0) return exitCodes.ok;
    return json ? reportUsage(error.message, context.stderr) : exitCodes.usage;
  }
}

/**
 * @param loaded of these commands the modules are loaded; of the others there are only names and
 * descriptions
 */
export async function buildProgram(
  context: CliContext,
  loaded: readonly (string | undefined)[] = Object.keys(commands),
  json = false,
): Promise<Command> {
  const program = new Command('order-sync')
    .description('Buys from a Wholesale Ordering API what a shop sold, each order exactly once.')
    .version(versionText, '-V, --version', 'print the versions of order-sync and of Node')
    .helpCommand('help [command]', 'show how a command is used')
    .exitOverride()
    .showHelpAfterError(json ? false : '(see `order-sync --help`)')
    .configureOutput({
      writeOut: (text) => context.stdout.write(text),
      writeErr: (text) => context.stderr.write(text),
      outputError: (text, write) => json || write(text),
      getOutHasColors: () => false,
      getErrHasColors: () => false,
      getOutHelpWidth: () => Math.min(100, context.stdout.columns ?? 100),
      getErrHelpWidth: () => Math.min(100, context.stderr.columns ?? 100),
    });
  for (const name of Object.keys(commands).filter(isCommand)) {
    if (loaded.includes(name)) (await commands[name]())(program, context);
    else program.command(name);
    program.commands.at(-1)?.description(descriptions[name]);
  }
  for (const command of program.commands) completeHelp(command);
  return program;
}
