import type { z } from 'zod';
import type { ConfigIssue } from './config-issue.ts';
import type { Origins } from './layers.ts';
import { nearestName } from '../core/nearest-name.ts';
import { withoutUrlSecrets } from '../core/settings/schema-values.ts';
import { holdsSecret, type SchemaNode, schemaNodeAt, schemaTree } from './schema-tree.ts';
import { type ConfigPath, valueAt } from './section-check.ts';

/**
 * Turns each issue of the schema into one of ours, with place, rule, value and what is expected.
 * @param section where in the tree it is that was read, and by which schema
 */
export function explainSchemaIssues(
  error: z.ZodError,
  tree: unknown,
  origins: Origins,
  section: { readonly at: ConfigPath; readonly schema: SchemaNode } = {
    at: [],
    schema: schemaTree,
  },
): ConfigIssue[] {
  const issues = error.issues.flatMap(withinChoice);
  // For a value with a wrong type only the type is reported: other rules do not apply to it.
  const mistyped = new Set(
    issues.filter((issue) => issue.code === 'invalid_type').map(({ path }) => path.join('.')),
  );
  const relevant = issues.filter(
    (issue) => issue.code === 'invalid_type' || !mistyped.has(issue.path.join('.')),
  );
  return relevant.flatMap((issue) => {
    const inner = issue.path.filter((segment) => typeof segment !== 'symbol');
    const [path, node] = [[...section.at, ...inner], schemaNodeAt(inner, section.schema)];
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => origins.issueAt([...path, key], unknownKey(key, node), 'key'));
    }
    const value = valueAt(tree, path);
    const problem =
      value === undefined ? missingKey(node) : `${ruleOf(issue, node)}, got ${shown(node, value)}`;
    return [origins.issueAt(path, problem)];
  });
}

/** Of a choice, what is wrong with the form that the value was meant to have, where one was. */
function withinChoice(issue: z.core.$ZodIssue): readonly z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union') return [issue];
  const meant = issue.errors.find((errors) =>
    errors.every(({ code, path }) => path.length > 0 || code === unknownKeys),
  );
  return meant?.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] })) ?? [issue];
}

const unknownKeys = 'unrecognized_keys';

function unknownKey(key: string, node: SchemaNode | undefined): string {
  const known = Object.keys(node?.properties ?? {}).concat(node?.propertyNames?.enum ?? []);
  const nearest = nearestName(key, known);
  const expected =
    nearest === undefined ? `expected one of ${known.join(', ')}` : `did you mean "${nearest}"?`;
  return `is no key of this version; ${expected}`;
}

function missingKey(node: SchemaNode | undefined): string {
  const description = node?.description;
  return `is required${description === undefined ? '' : `: ${lowerFirst(description)}`}`;
}

function ruleOf(issue: z.core.$ZodIssue, node: SchemaNode | undefined): string {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${typeNames[node?.type ?? ''] ?? typeNames[issue.expected] ?? issue.expected}`;
    case 'too_small':
      return `must be ${sizeOf(issue.origin)}at least ${issue.minimum}${unitOf(issue.origin)}`;
    case 'too_big':
      return `must be ${sizeOf(issue.origin)}at most ${issue.maximum}${unitOf(issue.origin)}`;
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}`;
    case 'invalid_key':
      return issue.issues.map(({ message }) => message).join(', ');
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

/** The value as it was written, up to a limit. A secret is masked, also one in an address. */
function shown(node: SchemaNode | undefined, value: unknown): string {
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (value === null) return 'nothing';
  if (typeof value === 'object') return 'a map of keys';
  // Somebody may have written a secret in place of the list or section that holds it.
  if (holdsSecret(node)) return '***';
  const text =
    JSON.stringify(typeof value === 'string' ? withoutUrlSecrets(value) : value) ?? 'undefined';
  return `${text.length > 80 ? `${text.slice(0, 80)}…` : text} (${typeof value})`;
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
