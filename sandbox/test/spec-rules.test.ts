import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { errorRows } from '../../test/support/sandbox-errors.ts';
import { specRules } from './spec-rules.ts';

/** The titles of the tests in this folder, as they stand in the source. */
const titles = new Set(
  readdirSync(import.meta.dirname)
    .filter((name) => name.endsWith('.test.ts'))
    .flatMap((name) => [
      ...readFileSync(join(import.meta.dirname, name), 'utf8').matchAll(
        /\bit\(\s*(['`])((?:(?!\1).)+)\1/g,
      ),
    ])
    .map((match) => (match[2] ?? '').replaceAll(/'(is bought|buys nothing)'/g, '"$1"')),
);

describe('the specification', () => {
  it('every sentence of the specification that states a rule has a test over HTTP', () => {
    const missing = specRules.flatMap(({ place, rule, tests }) =>
      tests.length === 0
        ? [`${place}: ${rule}`]
        : tests.filter((test) => !titles.has(test)).map((test) => `${place}: ${rule} -> ${test}`),
    );
    expect(missing).toEqual([]);
  });

  it('the list of rules has every section with rules and every row of the error table', () => {
    const sections = ['Spec 1', 'Spec 2', 'Spec 3', 'Spec 4', 'Spec 5', 'Spec 7', 'Spec 8'];
    expect(
      sections.filter((section) => !specRules.some(({ place }) => place.startsWith(section))),
    ).toEqual([]);
    const rows = specRules.filter(({ place }) => place === 'Spec 7, table').map(({ rule }) => rule);
    const missing = errorRows.filter(
      ({ status, code }) =>
        !rows.some((rule) => rule.startsWith(status === 429 ? '429 ' : `${status} \`${code}\``)),
    );
    expect(missing).toEqual([]);
  });
});
