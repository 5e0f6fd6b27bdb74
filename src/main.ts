import { runCommandLine } from './cli/program.ts';

// The one place that ends the process: what could not be stopped in time must not keep it alive.
process.exit(await runCommandLine(process.argv.slice(2)));
