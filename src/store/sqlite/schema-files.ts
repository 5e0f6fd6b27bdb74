import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { assert } from '../../core/order-sync-error.ts';

/** A file of SQL that makes a part of the schema. A database records its name and hash in the table `schema_files`. */
export interface SchemaFile {
  /** For example `0001_outbox.sql` or `views/outbox.sql`. */
  readonly name: string;
  readonly sql: string;
  readonly sha256: string;
}

let knownMigrations: readonly SchemaFile[] | null = null;
let knownViews: readonly SchemaFile[] | null = null;

/** The numbered files of `migrations/`, in order and without a gap. The text of a released one never changes. */
export function migrations(): readonly SchemaFile[] {
  knownMigrations ??= filesOf('migrations', '');
  for (const [index, { name }] of knownMigrations.entries()) {
    assert(Number(name.slice(0, 4)) === index + 1, `migrations are numbered without a gap, but not ${name}`);
  }
  return knownMigrations;
}

/** The files of `views/`: they hold nothing but views, and may change with each version. */
export function views(): readonly SchemaFile[] {
  knownViews ??= filesOf('views', 'views/');
  return knownViews;
}

function filesOf(folder: string, prefix: string): readonly SchemaFile[] {
  const path = join(import.meta.dirname, folder);
  return readdirSync(path)
    .filter((name) => name.endsWith('.sql'))
    .toSorted()
    .map((name) => {
      const sql = readFileSync(join(path, name), 'utf8');
      return { name: `${prefix}${name}`, sql, sha256: hash('sha256', sql) };
    });
}
