import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import type { Installation } from './worker-process.ts';

/**
 * Every code that the sandbox has delivered: it keeps them in a database of its own. Not the PINs,
 * whose four digits are everywhere, and not the ICCIDs: these identify an eSIM, and nobody can
 * install one with it.
 */
export function deliveredCodes({ folder }: Installation): readonly string[] {
  // The sandbox locks its database, so a copy is read.
  const copy = mkdtempSync(join(tmpdir(), 'order-sync-sandbox-copy-'));
  try {
    for (const name of ['sandbox.db', 'sandbox.db-wal'])
      copyFileSync(join(folder, name), join(copy, name));
    const database = new SqliteDatabase(join(copy, 'sandbox.db'));
    try {
      return database
        .prepare<[], string>(
          "SELECT value ->> 'code' FROM orders, json_each(orders.codes) UNION SELECT matching_id FROM esims",
        )
        .pluck()
        .all();
    } finally {
      database.close();
    }
  } finally {
    rmSync(copy, { recursive: true });
  }
}

/**
 * The forms in which a secret may stand somewhere: as it is, in hexadecimal, and in base64 at each
 * of three offsets.
 */
function formsOf(secret: string): readonly string[] {
  const hex = Buffer.from(secret).toString('hex');
  const inBase64 = [0, 1, 2].map((offset) => {
    const encoded = Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)]).toString('base64');
    // What the characters beside it are part of is cut off.
    const from = offset === 0 ? 0 : 4;
    return encoded.slice(from, encoded.length - (encoded.length % 4 === 0 ? 4 : 0) - 1);
  });
  return [secret, secret.replaceAll('-', ''), hex, hex.toUpperCase(), ...inBase64].filter(
    (form) => form.length >= 8,
  );
}

export function filesBelow(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? filesBelow(path) : [path];
  });
}

/** Which of the secrets stand in these texts and files, and where: `name: secret`. */
export function findSecrets(
  secrets: readonly string[],
  places: ReadonlyMap<string, string | Buffer>,
): readonly string[] {
  const found: string[] = [];
  for (const [name, content] of places) {
    const text = typeof content === 'string' ? content : content.toString('latin1');
    for (const secret of secrets)
      if (formsOf(secret).some((form) => text.includes(form))) found.push(`${name}: ${secret}`);
  }
  return found;
}

export const contentsOf = (paths: readonly string[]): Map<string, Buffer> =>
  new Map(paths.map((path) => [path, readFileSync(path)]));
