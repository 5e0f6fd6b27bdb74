import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { pages, projectRoot } from './shell-commands.ts';

const read = (page: string): string => readFileSync(join(projectRoot, page), 'utf8');
const exists = (path: string): boolean => existsSync(join(projectRoot, path));

it('every path of docs/architecture.md exists below src/', () => {
  const page = read('docs/architecture.md');
  const table = page.slice(
    page.indexOf('## Where to look'),
    page.indexOf('## What holds it together'),
  );
  const paths = [...table.matchAll(/`([a-z][\w.-]*\/[\w./-]*)`/g)].map(([, path = '']) => path);
  expect(paths.length).toBeGreaterThan(40);
  expect(paths.filter((path) => path !== 'src/' && !exists(join('src', path)))).toEqual([]);
});

it('every file of the way of one line exists', () => {
  const paths = [...read('src/buying/README.md').matchAll(/`([\w/-]+\.ts)`/g)].map(
    ([, path = '']) => path,
  );
  expect(paths.length).toBeGreaterThan(8);
  expect(
    paths.filter((path) => !exists(join('src/buying', path)) && !exists(join('src', path))),
  ).toEqual([]);
});

it('every source file and test that a page names exists', () => {
  const modules = readdirSync(join(projectRoot, 'src'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  const named = new RegExp(
    `\`((?:test|src|${modules.join('|')})/[\\w./-]+\\.(?:ts|js|sql))\``,
    'g',
  );
  const missing = pages().flatMap((page) =>
    [...read(page).matchAll(named)]
      .map(([, path = '']) => path)
      .filter((path) => !exists(path) && !exists(join('src', path)))
      .map((path) => `${page}: ${path}`),
  );
  expect(missing).toEqual([]);
});
