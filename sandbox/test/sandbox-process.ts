import { createSandbox } from '../create-sandbox.ts';

/**
 * A sandbox in its own process, for tests that kill it. Arguments: database, listen. Prints its
 * address.
 */
const [database, listen] = process.argv.slice(2);
if (database === undefined || listen === undefined)
  throw new Error('usage: sandbox-process.ts DATABASE LISTEN');
const sandbox = await createSandbox({ database, listen, config: { limits: { enabled: false } } });
process.stdout.write(`${sandbox.url}\n`);
