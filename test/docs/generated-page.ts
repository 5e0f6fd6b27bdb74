import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from './shell-commands.ts';

/** What a page of `docs/reference` is made of. `UPDATE_DOCS=1 npx vitest run test/docs` makes it. */
export const madeFrom = (source: string): string => `Generated from \`${source}\`.`;

/** The text of a page of `docs/reference`; UPDATE_DOCS=1 writes the generated one before. */
export function pageText(name: string, generated: string): string {
  const page = join(projectRoot, 'docs/reference', name);
  if (process.env['UPDATE_DOCS'] === '1') writeFileSync(page, generated);
  return readFileSync(page, 'utf8');
}
