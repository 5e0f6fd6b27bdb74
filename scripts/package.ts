/**
 * Packs what a user installs, as `order-sync-<version>.tgz` in the folder that is given, or in this
 * one. Its manifest is not that of the project, which names what the sources need: in the package
 * all of that is in the bundle, but for the packages that the build leaves out. Needs `npm run
 * build` before it.
 */
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  globSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { external } from './external.ts';

const root = resolve(import.meta.dirname, '..');
const target = resolve(process.argv[2] ?? '.');
const {
  files,
  dependencies,
  devDependencies: _tools,
  scripts: _scripts,
  ...manifest
} = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const needed = Object.fromEntries(external.map((name) => [name, dependencies[name]]));

const isType = (path: string): boolean =>
  statSync(path).isDirectory() ? !/\/(src|v3|mini|v4-mini)$/.test(path) : path.endsWith('.d.ts');

/** Pictures are for who reads the documentation at its repository. */
const isPacked = (path: string): boolean => !/\.(?:png|jpg)$/.test(path);

/**
 * The types of our modules are made of those of zod: these come along, and are named by their
 * place.
 */
function bringTypes(dist: string): void {
  cpSync(join(root, 'node_modules/zod'), join(dist, 'zod'), { recursive: true, filter: isType });
  for (const name of globSync('**/*.d.ts', { cwd: dist })) {
    const place = relative(dirname(join(dist, name)), join(dist, 'zod/index.js'));
    const text = readFileSync(join(dist, name), 'utf8');
    const named = text.replaceAll(
      /(?<= from )'zod'/g,
      `'${place.startsWith('.') ? place : `./${place}`}'`,
    );
    if (named !== text) writeFileSync(join(dist, name), named);
  }
}

const folder = mkdtempSync(join(tmpdir(), 'order-sync-pack-'));
try {
  for (const name of [...files, 'README.md', 'LICENSE'])
    cpSync(join(root, name), join(folder, name), { recursive: true, filter: isPacked });
  bringTypes(join(folder, 'dist'));
  writeFileSync(
    join(folder, 'package.json'),
    `${JSON.stringify({ ...manifest, dependencies: needed }, null, 2)}\n`,
  );
  execFileSync('npm', ['pack', folder, '--pack-destination', target], { stdio: 'inherit' });
} finally {
  rmSync(folder, { recursive: true });
}
