import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { retiredWords } from './retired-words.ts';

const root = resolve(import.meta.dirname, '../..');

/** The list itself, and databases of before it. */
const exempt = /^test\/docs\/retired-words\.ts$|^test\/store\/tagged-databases\/foreign\//;

const texts = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => /\.(ts|js|sql|md|ya?ml|json|html)$/.test(path) && path !== 'package-lock.json')
  .filter((path) => !exempt.test(path));

describe('plain words', () => {
  it.each(texts)('%s has no retired word', (path) => {
    const lines = readFileSync(join(root, path), 'utf8').split('\n');
    const found = lines.flatMap((line, index) =>
      retiredWords.flatMap(({ pattern, use }) => {
        const met = pattern.exec(line)?.[0];
        return met === undefined ? [] : [`${path}:${index + 1}: "${met}", use: ${use}`];
      }),
    );
    expect(found).toEqual([]);
  });
});
