import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { folderPairs, importsOf } from '../../scripts/imports.ts';
import { platformNames } from '../../src/storefronts/settings.ts';

const root = resolve(import.meta.dirname, '../..');
const src = join(root, 'src');
const sandbox = join(root, 'sandbox');

interface Rule {
  /** The modules that it may import, besides itself. */
  readonly modules: readonly string[];
  /** Packages that it may import; absent: any. */
  readonly packages?: readonly string[];
  /** Node's own modules that it may import; absent: any. */
  readonly node?: readonly string[];
}

const workerModules = [
  'core',
  'config',
  'ops',
  'store',
  'wholesale',
  'intake',
  'storefronts',
  'buying',
  'results',
];

const rules: Readonly<Record<string, Rule>> = {
  // Only for functions of their input: hashes for references and fingerprints, and the unpacking of
  // answers.
  core: { modules: [], packages: ['zod'], node: ['node:crypto', 'node:zlib'] },
  ops: { modules: ['core'] },
  config: { modules: ['core', 'ops'] },
  store: { modules: ['core'] },
  wholesale: { modules: ['core'] },
  intake: { modules: ['core', 'store', 'ops'] },
  storefronts: { modules: ['core', 'store', 'ops'] },
  buying: { modules: ['core', 'store', 'ops', 'wholesale'] },
  results: { modules: ['core', 'store', 'ops'] },
  admin: { modules: workerModules },
  app: { modules: [...workerModules, 'admin'] },
  cli: { modules: [...workerModules, 'admin', 'app'] },
  'main.ts': { modules: ['cli'], packages: [] },
};

function filesBelow(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? filesBelow(path) : [path];
  });
}

const sources = filesBelow(src).filter((path) => path.endsWith('.ts'));
const inSrc = (path: string): string => relative(src, path);
const moduleOf = (path: string): string => inSrc(path).split('/')[0] ?? '';
const textOf = (path: string): string => readFileSync(path, 'utf8');
/** Comments and strings may speak of anything; rules about code look at code. */
const codeOf = (path: string): string =>
  textOf(path).replace(/\/\*[\s\S]*?\*\/|(?<!:)\/\/.*$/gm, '');
const filesImportedBy = (path: string): string[] =>
  importsOf(textOf(path)).flatMap((specifier) =>
    specifier.startsWith('.') ? [resolve(dirname(path), specifier)] : [],
  );

/** A module's `settings.ts` declares what can be configured of it; `config` puts these together. */
const isSettings = (path: string): boolean => path.endsWith('/settings.ts');

function isAllowed(path: string, specifier: string): boolean {
  const rule = rules[moduleOf(path)];
  if (rule === undefined) return false;
  if (specifier.startsWith('.')) {
    const target = resolve(dirname(path), specifier);
    if (target.startsWith(`${sandbox}/`)) return moduleOf(path) === 'cli';
    if (moduleOf(target) === moduleOf(path) || rule.modules.includes(moduleOf(target))) return true;
    return moduleOf(path) === 'config' && isSettings(target);
  }
  const list = specifier.startsWith('node:') ? rule.node : rule.packages;
  return list === undefined || list.includes(specifier);
}

/**
 * Groups of files that import each other in a circle, types included (Tarjan's strongly connected
 * components).
 */
function importCycles(): string[][] {
  const cycles: string[][] = [];
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const visit = (path: string): number => {
    const own = order.size;
    order.set(path, own);
    lowest.set(path, own);
    stack.push(path);
    for (const target of filesImportedBy(path)) {
      if (!target.endsWith('.ts')) continue;
      const reached = order.has(target)
        ? stack.includes(target)
          ? order.get(target)
          : undefined
        : visit(target);
      if (reached !== undefined) lowest.set(path, Math.min(lowest.get(path) ?? own, reached));
    }
    if (lowest.get(path) === own) {
      const cycle = stack.splice(stack.indexOf(path)).map(inSrc);
      if (cycle.length > 1) cycles.push(cycle.toSorted());
    }
    return lowest.get(path) ?? own;
  };
  for (const path of sources) if (!order.has(path)) visit(path);
  return cycles;
}

function offenders(paths: string[], pattern: RegExp): string[] {
  return paths.filter((path) => pattern.test(codeOf(path))).map(inSrc);
}

describe('the modules of src/', () => {
  it('import only in the allowed directions', () => {
    const wrong = sources.flatMap((path) =>
      importsOf(textOf(path))
        .filter((specifier) => !isAllowed(path, specifier))
        .map((specifier) => `${inSrc(path)} -> ${specifier}`),
    );
    expect(wrong).toEqual([]);
  });

  it('name the file that they import, with its ending', () => {
    const wrong = sources.flatMap((path) =>
      importsOf(textOf(path)).filter(
        (specifier) => specifier.startsWith('.') && !/\.(ts|json)$/.test(specifier),
      ),
    );
    expect(wrong).toEqual([]);
  });

  it('have no import cycle, also none between types', () => {
    expect(importCycles()).toEqual([]);
  });

  it('have no two folders that import each other', () => {
    expect(folderPairs(src).map(({ folders }) => folders.join(' and '))).toEqual([]);
  });

  it('each have a row in the table of docs/architecture.md', () => {
    const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8');
    const rowOf = (name: string): string => `\n| \`${name.endsWith('.ts') ? name : `${name}/`}\` |`;
    expect(Object.keys(rules).filter((name) => !page.includes(rowOf(name)))).toEqual([]);
  });

  it('start the sandbox only from the command line; it imports nothing of the worker', () => {
    const imported = filesBelow(sandbox)
      .filter((path) => path.endsWith('.ts') && !path.startsWith(`${sandbox}/test/`))
      .flatMap((path) =>
        filesImportedBy(path).filter((target) => !target.startsWith(`${sandbox}/`)),
      );
    expect(imported).toEqual([]);
    expect(folderPairs(sandbox, root)).toEqual([]);
  });

  it('read the environment only in config, end the process only in main, print only in the logger and the CLI', () => {
    const outside = (name: string): string[] => sources.filter((path) => moduleOf(path) !== name);
    expect(offenders(outside('config'), /process\.env\b/)).toEqual([]);
    expect(offenders(outside('main.ts'), /process\.exit(Code)?\b/)).toEqual([]);
    expect(offenders(sources, /console\./)).toEqual([]);
  });

  it('have SQL only in the store, and in the files of buying that are named for it', () => {
    const others = sources.filter(
      (path) => moduleOf(path) !== 'store' && !/^buying\/(.*\/)?[a-z-]+-sql\.ts$/.test(inSrc(path)),
    );
    expect(
      offenders(others, /better-sqlite3|\b(SELECT|INSERT INTO|UPDATE|DELETE FROM) [a-z_*]+/),
    ).toEqual([]);
  });

  it('get time and randomness injected: only ops reads them', () => {
    const others = sources.filter((path) => moduleOf(path) !== 'ops');
    expect(
      offenders(
        others,
        /Date\.now\(|new Date\(\)|Math\.random\(|performance\.now\(|process\.hrtime/,
      ),
    ).toEqual([]);
  });

  it('speak HTTP outwards only in the API client, the clients of shops, signed posts and the command line', () => {
    const others = sources.filter((path) => !['wholesale', 'cli'].includes(moduleOf(path)));
    const outgoing = 'ops/outgoing-http.ts';
    expect(offenders(others, /from 'undici'|\bfetch\(/)).toEqual([outgoing]);
    const users = sources.filter((path) =>
      filesImportedBy(path).some((target) => inSrc(target) === outgoing),
    );
    const elsewhere = users
      .map(inSrc)
      .filter((path) => !/^(storefronts\/|results\/(callback|signed-post))/.test(path));
    expect(elsewhere).toEqual([]);
  });

  it('name a platform of shops only in its folder and in the two lists of platforms', () => {
    const folders = platformNames.map((name) => `storefronts/${name}/`);
    const lists = ['storefronts/settings.ts', 'storefronts/platforms.ts'];
    const named = new RegExp([...platformNames, 'wordpress'].join('|'), 'i');
    // Also in comments, in SQL and in texts.
    const others = filesBelow(src).filter(
      (path) =>
        !lists.includes(inSrc(path)) && !folders.some((folder) => inSrc(path).startsWith(folder)),
    );
    expect(others.filter((path) => named.test(textOf(path))).map(inSrc)).toEqual([]);
  });

  it('have names that say what a thing is: no utils, helpers, manager, common; no barrel files', () => {
    const vague = sources.filter((path) =>
      /(^|[/-])(utils?|helpers?|managers?|common|misc|index)\.ts$/.test(inSrc(path)),
    );
    expect(vague.map(inSrc)).toEqual([]);
  });
});
