import type { z } from 'zod';
import type { ConfigIssue } from './config-issue.ts';
import type { Origins } from './layers.ts';
import { nearestName } from '../core/nearest-name.ts';
import { holdsSecret, schemaNodeAt, type ConfigPath } from './schema-tree.ts';
import { valueAt } from './tree.ts';

/** Says each broken rule of the schema in our own words: place, path, rule, the value met, and what is expected. */
export function explainSchemaIssues(error: z.ZodError, tree: unknown, origins: Origins): ConfigIssue[] {
  // A value of the wrong type may also be too long for a list: one of both is enough.
  const mistyped = new Set(
    error.issues.filter((issue) => issue.code === 'invalid_type').map(({ path }) => path.join('.')),
  );
  const telling = error.issues.filter((issue) => issue.code === 'invalid_type' || !mistyped.has(issue.path.join('.')));
  return telling.flatMap((issue) => {
    const path = issue.path.filter((segment) => typeof segment !== 'symbol');
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({
        place: origins.placeFor([...path, key], 'key'),
        path: [...path, key].join('.'),
        problem: unknownKey(path, key),
      }));
    }
    const met = valueAt(tree, path);
    const place = origins.placeFor(path);
    if (met === undefined) return [{ place, path: path.join('.'), problem: missingKey(path) }];
    return [{ place, path: path.join('.'), problem: `${ruleOf(issue, path)}, got ${shown(path, met)}` }];
  });
}

function unknownKey(path: ConfigPath, key: string): string {
  const node = schemaNodeAt(path);
  const known = Object.keys(node?.properties ?? {}).concat(node?.propertyNames?.enum ?? []);
  const nearest = nearestName(key, known);
  const expected = nearest === undefined ? `expected one of ${known.join(', ')}` : `did you mean "${nearest}"?`;
  return `is not a known key; ${expected}`;
}

function missingKey(path: ConfigPath): string {
  const description = schemaNodeAt(path)?.description;
  return `is required${description === undefined ? '' : `: ${lowerFirst(description)}`}`;
}

function ruleOf(issue: z.core.$ZodIssue, path: ConfigPath): string {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${typeNames[schemaNodeAt(path)?.type ?? ''] ?? typeNames[issue.expected] ?? issue.expected}`;
    case 'too_small':
      return `must be ${sizeOf(issue.origin)}at least ${issue.minimum}${unitOf(issue.origin)}`;
    case 'too_big':
      return `must be ${sizeOf(issue.origin)}at most ${issue.maximum}${unitOf(issue.origin)}`;
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}`;
    default:
      return issue.message;
  }
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'text (in quotes, if it looks like a number)',
  integer: 'a whole number',
  number: 'a number',
  object: 'a map of keys',
  array: 'a list',
  record: 'a map of keys',
};

const sizeOf = (origin: string): string => (origin === 'array' ? 'a list of ' : '');
const unitOf = (origin: string): string => (origin === 'string' ? ' characters long' : '');

/** The value as a person wrote it, cut to a limit; never that of a secret. */
function shown(path: ConfigPath, value: unknown): string {
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (value === null) return 'nothing';
  if (typeof value === 'object') return 'a map of keys';
  // A key written where its list belongs is still a key.
  if (holdsSecret(schemaNodeAt(path))) return '***';
  const text = JSON.stringify(value) ?? 'undefined';
  return `${text.length > 80 ? `${text.slice(0, 80)}…` : text} (${typeof value})`;
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
