import { Buffer } from 'node:buffer';
import SqliteDatabase from 'better-sqlite3';

interface SchemaRow {
  readonly type: 'table' | 'index' | 'trigger' | 'view';
  readonly name: string;
  readonly sql: string;
}

const numbers = ['application_id', 'user_version'] as const;
/** A virtual table makes them itself, and then has to be given their rows. */
const isShadow = (name: string): boolean => name.startsWith('search_words_');

/** A database as SQL text, from which `loadDump` makes it again. */
export function dumpOf(path: string): string {
  const database = new SqliteDatabase(path, { readonly: true });
  const schema = database
    .prepare<[], SchemaRow>(
      "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'",
    )
    .all();
  const tables = schema.filter(({ type }) => type === 'table');
  const statements = [
    ...numbers.map((name) => `PRAGMA ${name} = ${Number(database.pragma(name, { simple: true }))}`),
    ...tables.filter(({ name }) => !isShadow(name)).map(({ sql }) => sql),
    ...tables.flatMap(({ name, sql }) => (sql.includes('VIRTUAL') ? [] : rowsOf(database, name))),
    ...schema.filter(({ type }) => type !== 'table').map(({ sql }) => sql),
  ];
  database.close();
  return `${statements.join(';\n')};\n`;
}

function rowsOf(database: SqliteDatabase.Database, table: string): string[] {
  const rows = database.prepare<[], unknown[]>(`SELECT * FROM ${table}`).raw().all();
  const inserts = rows.map((row) => `INSERT INTO ${table} VALUES (${row.map(literal).join(', ')})`);
  return isShadow(table) ? [`DELETE FROM ${table}`, ...inserts] : inserts;
}

function literal(value: unknown): string {
  if (value === null) return 'NULL';
  if (Buffer.isBuffer(value)) return `x'${value.toString('hex')}'`;
  return typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : JSON.stringify(value);
}

/** Makes the file of a dumped database, as a worker leaves it when it stops. */
export function loadDump(sql: string, path: string): void {
  const database = new SqliteDatabase(path);
  database.pragma('journal_mode = WAL');
  // For the tables behind the search.
  database.unsafeMode(true);
  database.pragma('foreign_keys = OFF');
  database.transaction(() => database.exec(sql))();
  database.close();
}
