/**
 * Writes the program to `dist/` as JavaScript: Node strips no types inside node_modules, and some 60 files start twice as fast
 * as some 700. Its types come from `tsc -p tsconfig.build.json`, which runs after it.
 *
 * Each module finds its files beside itself (`import.meta.dirname`). In `dist/` they keep their folders, and the modules,
 * which lie together in one folder, are told where theirs was.
 */
import { cpSync, rmSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { rolldown, type Plugin } from 'rolldown';

const root = resolve(import.meta.dirname, '..');
const src = join(root, 'src');
const dist = join(root, 'dist');

/** The program, and what other programs import: each has its line under `bin` or `exports` of package.json. */
const entries = {
  main: join(src, 'main.ts'),
  sandbox: join(src, 'sandbox/create-sandbox.ts'),
  wholesale: join(src, 'wholesale/client.ts'),
};

/** Packages with a binary cannot be bundled. */
const external = ['better-sqlite3'];

/** Replaces the place of a module by the one that it has in `src/`. */
const placesOfModules: Plugin = {
  name: 'places-of-modules',
  transform(code, id) {
    if (!id.startsWith(`${src}/`) || !code.includes('import.meta.')) return null;
    if (/new URL\(\s*'[^']+\.ts'/.test(code)) {
      // The file is not in `dist/` under its name.
      throw new Error(`${relative(root, id)} starts another module by its address: add that to \`entries\``);
    }
    const place = relative(src, id);
    return code
      .replaceAll('import.meta.dirname', `(import.meta.dirname + ${JSON.stringify(`/${dirname(place)}`)})`)
      .replaceAll('import.meta.url', `new URL(${JSON.stringify(`./${place}`)}, import.meta.url).href`);
  },
};

rmSync(dist, { recursive: true, force: true });
const bundle = await rolldown({ input: entries, external, platform: 'node', plugins: [placesOfModules] });
await bundle.write({ dir: dist, format: 'esm', entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' });
await bundle.close();
// Migrations, views, templates: whatever is no module.
cpSync(src, dist, {
  recursive: true,
  filter: (path) => statSync(path).isDirectory() || !path.endsWith('.ts'),
});
