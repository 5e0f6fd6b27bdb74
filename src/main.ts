import { runCommandLine } from './cli/commands/program.ts';

// Only this file ends the process. A part that did not stop in time must not keep it alive.
process.exit(await runCommandLine(process.argv.slice(2)));
