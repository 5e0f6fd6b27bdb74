/**
 * Writes the program to `dist/` as JavaScript: Node strips no types inside node_modules, and
 * reading some 60 files takes less time than reading some 700. Its types come from `tsc -p
 * tsconfig.build.json`, which runs after it.
 *
 * Each module finds its files beside itself (`import.meta.dirname`). In `dist/` these keep their
 * folders, and each module looks for them in the folder that it had.
 */
import { cpSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { dirname, join, relative, resolve } from 'node:path';
import { rolldown, type Plugin } from 'rolldown';
import { minifySync } from 'rolldown/utils';
import { schemaTree } from '../src/config/schema-tree.ts';
import { external } from './external.ts';

const root = resolve(import.meta.dirname, '..');
const src = join(root, 'src');
const dist = join(root, 'dist');

/**
 * The program, and what other programs import: each has its line under `bin` or `exports` of
 * package.json.
 */
const entries = {
  main: join(src, 'main.ts'),
  'upkeep-process': join(src, 'app/upkeep-process.ts'),
  'sku-process': join(src, 'storefronts/sku-process.ts'),
  sandbox: join(root, 'sandbox/create-sandbox.ts'),
  wholesale: join(src, 'wholesale/client.ts'),
};

/** The folders of our own code. Below `dist/`, `sandbox/` stands beside the modules of `src/`. */
const own = [src, join(root, 'sandbox')];
const placeOf = (id: string): string => relative(id.startsWith(`${src}/`) ? src : root, id);

/** Replaces the place of a module by the one that it has among the sources. */
const placesOfModules: Plugin = {
  name: 'places-of-modules',
  transform(code, id) {
    if (!own.some((folder) => id.startsWith(`${folder}/`)) || !code.includes('import.meta.'))
      return null;
    if (/new URL\(\s*'[^']+\.ts'/.test(code)) {
      // The file is not in `dist/` under its name.
      throw new Error(
        `${relative(root, id)} starts another module by its address: add that to \`entries\``,
      );
    }
    const place = placeOf(id);
    return code
      .replaceAll(
        'import.meta.dirname',
        `(import.meta.dirname + ${JSON.stringify(`/${dirname(place)}`)})`,
      )
      .replaceAll(
        'import.meta.url',
        `new URL(${JSON.stringify(`./${place}`)}, import.meta.url).href`,
      );
  },
};

/** The schema of the configuration as data: to calculate it would take some 20 ms of each start. */
const schemaAsData: Plugin = {
  name: 'schema-as-data',
  transform(code, id) {
    if (id !== join(src, 'config/schema-tree.ts')) return null;
    const data = `JSON.parse(${JSON.stringify(JSON.stringify(schemaTree))})`;
    const changes = [
      ['schemaTreeOf(configSchema)', data],
      ["import { configSchema } from './schema.ts';\n", ''],
    ] as const;
    return changes.reduce((text, [from, to]) => {
      if (!text.includes(from))
        throw new Error(`schema-tree.ts has no ${from}: change the build to the new text`);
      return text.replace(from, () => to);
    }, code);
  },
};

/**
 * Takes `node:http` without its getters. An import of it reads all of them, and those of its
 * WebSocket load Node's own undici, which would take some 15 ms of each start; nothing here uses
 * them.
 */
const httpName = '\0node:http';
const httpWithoutGetters: Plugin = {
  name: 'http-without-getters',
  resolveId(source, _importer, { kind }) {
    return kind === 'import-statement' && (source === 'node:http' || source === 'http')
      ? httpName
      : null;
  },
  load(id) {
    if (id !== httpName) return null;
    const names = Object.entries(Object.getOwnPropertyDescriptors(http)).flatMap(
      ([name, property]) => ('value' in property ? [name] : []),
    );
    return `const http = process.getBuiltinModule('node:http');
export default http;
export const { ${names.join(', ')} } = http;`;
  },
};

/**
 * Makes files smaller that have code of packages, and next to none of ours, which keeps its lines
 * for the traces of errors.
 */
const packagesSmall: Plugin = {
  name: 'packages-small',
  renderChunk(code, { fileName, moduleIds }) {
    const ours = moduleIds.filter((id) => own.some((folder) => id.startsWith(`${folder}/`)));
    return ours.length * 10 > moduleIds.length
      ? null
      : minifySync(fileName, code, { module: true }).code;
  },
};

rmSync(dist, { recursive: true, force: true });
const bundle = await rolldown({
  input: entries,
  external: [...external],
  platform: 'node',
  plugins: [placesOfModules, schemaAsData, httpWithoutGetters, packagesSmall],
});
const { output } = await bundle.write({
  dir: dist,
  format: 'esm',
  // The licences are in a file of their own.
  comments: { legal: false, jsdoc: false },
  entryFileNames: '[name].js',
  chunkFileNames: '[name]-[hash].js',
});
await bundle.close();

/** The packages whose code is in the bundle, as their folders in node_modules. */
const bundled = new Set(
  output
    .flatMap((file) => ('moduleIds' in file ? file.moduleIds : []))
    .flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id) ?? []),
);
// Their licences ask to be passed on with the code.
const licences = [...bundled].toSorted().map((folder) => {
  const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const files = readdirSync(folder).filter((file) => /^licen[cs]e/i.test(file));
  if (files.length === 0) throw new Error(`${folder} has no file with its licence`);
  return [
    `${name} ${version}`,
    ...files.map((file) => readFileSync(join(folder, file), 'utf8').trim()),
  ].join('\n\n');
});
writeFileSync(join(dist, 'licences.txt'), `${licences.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`);

// Migrations, views: whatever is no module.
for (const folder of own)
  cpSync(folder, folder === src ? dist : join(dist, 'sandbox'), {
    recursive: true,
    filter: (path) =>
      statSync(path).isDirectory() ? path !== join(root, 'sandbox/test') : !path.endsWith('.ts'),
  });
