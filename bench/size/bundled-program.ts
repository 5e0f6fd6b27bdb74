import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');

/** Makes the bundle, in a folder that has nothing else, as the package and the container do. */
export function makeBundle(folder: string): string {
  execFileSync(process.execPath, [join(root, 'scripts/build.ts')], { stdio: 'ignore' });
  mkdirSync(join(folder, 'node_modules'), { recursive: true });
  for (const name of ['bin', 'dist', 'config', 'package.json'])
    cpSync(join(root, name), join(folder, name), { recursive: true });
  symlinkSync(
    join(root, 'node_modules/better-sqlite3'),
    join(folder, 'node_modules/better-sqlite3'),
  );
  return folder;
}
