import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, it } from 'vitest';
import { pages, projectRoot } from './shell-commands.ts';

const read = (page: string): string => readFileSync(join(projectRoot, page), 'utf8');

/** The anchors of the headings of a page, as GitHub makes them. */
function anchorsOf(page: string): Set<string> {
  const withoutCode = read(page).replaceAll(/^```[\s\S]*?^```$/gm, '');
  const headings = [...withoutCode.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .trim()
        .replaceAll(' ', '-'),
    ),
  );
}

/** Why a relative link of a page leads nowhere; null for one that works. */
function problemOf(page: string, link: string): string | null {
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? page : relative(projectRoot, join(projectRoot, dirname(page), path));
  if (!existsSync(join(projectRoot, target))) return `${page}: ${link}: no such file`;
  if (anchor === undefined || !target.endsWith('.md') || anchorsOf(target).has(anchor)) return null;
  return `${page}: ${link}: no such heading`;
}

it('every relative link of the documentation leads to a file and a heading that exist', () => {
  const problems = pages().flatMap((page) =>
    [...read(page).matchAll(/\]\(((?!https?:)[^)\s]+)\)/g)].flatMap(
      ([, link = '']) => problemOf(page, link) ?? [],
    ),
  );
  expect(problems).toEqual([]);
});

it('every page of the documentation is linked in its list of contents, and that in the README', () => {
  const linked = new Set(
    [...read('docs/README.md').matchAll(/\]\(([^)#]+)/g)].map(([, page = '']) => `docs/${page}`),
  );
  const contents = 'docs/README.md';
  expect(read('README.md')).toContain(`](${contents})`);
  expect(
    pages().filter((page) => page.startsWith('docs/') && page !== contents && !linked.has(page)),
  ).toEqual([]);
});
