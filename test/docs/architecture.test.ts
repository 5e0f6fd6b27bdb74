import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { projectRoot } from './shell-commands.ts';

it('every path of docs/architecture.md exists below src/', () => {
  const page = readFileSync(join(projectRoot, 'docs/architecture.md'), 'utf8');
  const table = page.slice(page.indexOf('## Where is what'), page.indexOf('## What holds it together'));
  const paths = [...table.matchAll(/`([a-z][\w.-]*\/[\w./-]*)`/g)].map(([, path = '']) => path);
  expect(paths.length).toBeGreaterThan(40);
  expect(paths.filter((path) => path !== 'src/' && !existsSync(join(projectRoot, 'src', path)))).toEqual([]);
});
