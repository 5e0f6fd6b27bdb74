/** The part of pg-boss that the bench uses. */
interface Boss {
  start(): Promise<unknown>;
  createQueue(name: string): Promise<unknown>;
  send(name: string, data: object): Promise<string | null>;
}

type BossClass = new (options: {
  connectionString: string;
  max: number;
  supervise: boolean;
  schedule: boolean;
}) => Boss;

const moduleName: string = 'pg-boss';

/** The class of pg-boss; null where the package is not installed: its row of the table is then empty. */
export async function pgBossClass(): Promise<BossClass | null> {
  try {
    const found: unknown = await import(moduleName);
    return hasClass(found) ? found.PgBoss : null;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND') return null;
    throw error;
  }
}

function hasClass(value: unknown): value is { PgBoss: BossClass } {
  return typeof value === 'object' && value !== null && 'PgBoss' in value && typeof value.PgBoss === 'function';
}
