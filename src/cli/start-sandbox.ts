import { OrderSyncError } from '../core/order-sync-error.ts';
import { createSandbox, type Sandbox, type SandboxOptions } from '../sandbox/create-sandbox.ts';
import { addressFile, type SandboxSection } from './sandbox-section.ts';

/**
 * Starts a sandbox for a command.
 * @throws OrderSyncError LISTEN_FAILED when its address is taken; DATABASE_LOCKED when another sandbox has its database;
 *   REFUSED when the database is of another version, or of another program
 */
export async function startSandbox(section: SandboxSection & Pick<SandboxOptions, 'reset' | 'log'>): Promise<Sandbox> {
  try {
    // A database in memory has no file, and nothing beside it.
    const file = section.database === ':memory:' ? {} : { addressFile: addressFile(section) };
    return await createSandbox({ ...section, ...file });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'EADDRINUSE') {
      throw new OrderSyncError('LISTEN_FAILED', `Cannot listen on ${section.listen}: another program listens there`, {
        hint: 'change sandbox.listen, or pass --listen 127.0.0.1:0 for any free port',
        cause: error,
      });
    }
    if (code === 'SANDBOX_DATABASE_UNKNOWN') {
      throw new OrderSyncError('REFUSED', `${section.database} is not a database of this version of the sandbox`, {
        hint: 'if an earlier version made it, delete it; else set sandbox.database to another file',
        cause: error,
      });
    }
    if (code !== 'SANDBOX_DATABASE_IN_USE') throw error;
    throw new OrderSyncError('DATABASE_LOCKED', `Another sandbox uses the database ${section.database}`, {
      hint: 'stop that one first, or set sandbox.database to another file: two would sell above the limits',
      cause: error,
    });
  }
}
