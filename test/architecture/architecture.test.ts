import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { importsOf } from './imports.ts';

const root = resolve(import.meta.dirname, '../..');
const src = join(root, 'src');

/** What each room may import, besides itself and Node's own modules. `*` stands for any package. */
const allowed: Record<string, { rooms: string[]; packages: string[]; node?: string[] }> = {
  // node:crypto only for pure hashing: references and fingerprints are functions of their input.
  core: { rooms: [], packages: ['zod'], node: ['node:crypto'] },
  config: { rooms: ['core', 'ops'], packages: ['*'] },
  ops: { rooms: ['core'], packages: ['*'] },
  store: { rooms: ['core'], packages: ['*'] },
  wholesale: { rooms: ['core'], packages: ['*'] },
  intake: { rooms: ['core', 'store', 'ops', 'storefronts'], packages: ['*'] },
  results: { rooms: ['core', 'store', 'ops'], packages: ['*'] },
  // Reads shops back over HTTP; what it reads is taken in by the intake, which is handed to it from outside.
  storefronts: { rooms: ['core', 'store', 'ops'], packages: ['*'] },

  submit: { rooms: ['core', 'store', 'ops', 'wholesale'], packages: ['*'] },
  admin: { rooms: ['core', 'config', 'store', 'ops'], packages: ['*'] },
  cli: {
    rooms: [
      'core',
      'config',
      'ops',
      'store',
      'wholesale',
      'intake',
      'results',
      'storefronts',

      'admin',
      'sandbox',
      'app',
    ],
    packages: ['*'],
  },
  sandbox: { rooms: [], packages: ['*'] },
  app: {
    rooms: [
      'core',
      'config',
      'ops',
      'store',
      'wholesale',
      'intake',
      'results',
      'storefronts',

      'submit',
      'admin',
    ],
    packages: ['*'],
  },
  'main.ts': { rooms: ['cli'], packages: [] },
};

function filesBelow(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? filesBelow(path) : [path];
  });
}

const sources = filesBelow(src).filter((path) => path.endsWith('.ts'));
const inSrc = (path: string): string => relative(src, path);
const roomOf = (path: string): string => inSrc(path).split('/')[0] ?? '';
const textOf = (path: string): string => readFileSync(path, 'utf8');
/** Comments and strings may speak of anything; rules about code look at code. */
const codeOf = (path: string): string => textOf(path).replace(/\/\*[\s\S]*?\*\/|(?<!:)\/\/.*$/gm, '');

function offenders(paths: string[], pattern: RegExp): string[] {
  return paths.filter((path) => pattern.test(codeOf(path))).map(inSrc);
}

describe('the house stands as drawn', () => {
  it('imports only go in the directions of the drawing', () => {
    const wrong: string[] = [];
    for (const path of sources) {
      const rule = allowed[roomOf(path)];
      expect(rule, `${inSrc(path)} stands in a room the drawing does not know`).toBeDefined();
      if (rule === undefined) continue;
      for (const specifier of importsOf(textOf(path))) {
        if (specifier.startsWith('.')) {
          const target = roomOf(resolve(dirname(path), specifier));
          if (target !== roomOf(path) && !rule.rooms.includes(target)) wrong.push(`${inSrc(path)} -> ${specifier}`);
          if (!/\.(ts|json)$/.test(specifier)) wrong.push(`${inSrc(path)}: ${specifier} carries no .ts`);
        } else if (specifier.startsWith('node:')) {
          if (rule.node && !rule.node.includes(specifier)) wrong.push(`${inSrc(path)} -> ${specifier}`);
        } else if (!rule.packages.includes('*') && !rule.packages.includes(specifier)) {
          wrong.push(`${inSrc(path)} -> ${specifier}`);
        }
      }
    }
    expect(wrong).toEqual([]);
  });

  it('the sandbox is reached only through the command line, so that nothing falls back to it by itself', () => {
    const reaching = sources.filter(
      (path) =>
        roomOf(path) !== 'sandbox' &&
        importsOf(textOf(path)).some(
          (specifier) => specifier.startsWith('.') && roomOf(resolve(dirname(path), specifier)) === 'sandbox',
        ),
    );
    expect(reaching.map(roomOf).filter((room) => room !== 'cli')).toEqual([]);
  });

  it('no file is longer than 400 lines', () => {
    const long = sources.filter((path) => textOf(path).split('\n').length > 401);
    expect(long.map(inSrc)).toEqual([]);
  });

  it('only config reads the environment, only main ends the process, only the logger and the CLI print', () => {
    const worker = sources.filter((path) => roomOf(path) !== 'sandbox');
    expect(
      offenders(
        sources.filter((path) => roomOf(path) !== 'config'),
        /process\.env\b/,
      ),
    ).toEqual([]);
    expect(
      offenders(
        sources.filter((path) => roomOf(path) !== 'main.ts'),
        /process\.exit(Code)?\b/,
      ),
    ).toEqual([]);
    expect(offenders(worker, /console\./)).toEqual([]);
  });

  it('only the store contains SQL', () => {
    const others = sources.filter((path) => !['store', 'sandbox'].includes(roomOf(path)));
    expect(offenders(others, /better-sqlite3|\b(SELECT|INSERT INTO|UPDATE|DELETE FROM) [a-z_*]+/)).toEqual([]);
  });

  it('time and randomness are injected: only core/clock.ts and ops read them', () => {
    const others = sources.filter((path) => !['sandbox', 'ops'].includes(roomOf(path)));
    expect(offenders(others, /Date\.now\(|new Date\(\)|Math\.random\(|performance\.now\(|process\.hrtime/)).toEqual([]);
  });

  it('only the API client, the reader of shops and the callback sink speak HTTP outwards', () => {
    const others = sources.filter((path) => !['wholesale', 'storefronts', 'sandbox', 'cli'].includes(roomOf(path)));
    expect(offenders(others, /from 'undici'|\bfetch\(/).filter((path) => !path.startsWith('results/callback'))).toEqual(
      [],
    );
  });

  it('names say what a thing is: no utils, helpers, manager, common; no barrel files', () => {
    const vague = sources.filter((path) =>
      /(^|[/-])(utils?|helpers?|managers?|common|misc|index)\.ts$/.test(inSrc(path)),
    );
    expect(vague.map(inSrc)).toEqual([]);
  });
});
