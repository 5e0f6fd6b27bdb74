import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { ConfigIssue } from './config-issue.ts';
import type { Origins } from './layers.ts';
import { isSandbox } from './rules.ts';
import { schemaTree, type ConfigPath, type SchemaNode } from './schema-tree.ts';
import { valueAt } from './tree.ts';

export interface Secrets {
  readonly issues: readonly ConfigIssue[];
  readonly warnings: readonly string[];
  /** The secret of a dotted path, without the `_file` of its key. */
  get(path: string): string | undefined;
  readonly all: ReadonlyMap<string, string>;
}

/**
 * Finds every secret by its mark in the schema and takes it from its key or from its `_file`. Written in the config
 * file it is a mistake, except for the sandbox: config files are copied, committed and shown to people.
 */
export function readSecrets(tree: unknown, origins: Origins, cwd: string): Secrets {
  const issues: ConfigIssue[] = [];
  const warnings: string[] = [];
  const found = new Map<string, string>();
  const sandbox = isSandbox(tree);

  for (const { path, need } of secretPaths(schemaTree, tree, [])) {
    const report = (where: ConfigPath, problem: string) =>
      issues.push({ place: origins.placeFor(where), path: where.join('.'), problem });
    const filePath = [...path.slice(0, -1), `${String(path.at(-1))}_file`];
    const value = valueAt(tree, path);
    const file = valueAt(tree, filePath);
    const kind = origins.of(path)?.kind;
    const instead = `use ${String(filePath.at(-1))}, or the variable ${variableOf(path)}`;
    if (value !== undefined && kind === 'flag') {
      // Arguments are seen by every process of the machine and kept in shell histories.
      report(path, `is a secret and never a flag: ${instead}`);
    } else if (value !== undefined && file !== undefined) {
      report(path, `and ${filePath.join('.')} are both set: choose one`);
    } else if (value !== undefined) {
      if (kind === 'file' && !sandbox) report(path, `holds a secret in a config file: ${instead}`);
      if (typeof value === 'string') found.set(path.join('.'), value);
    } else if (typeof file === 'string') {
      const read = readSecretFile(resolve(cwd, file));
      if ('problem' in read) report(filePath, read.problem);
      else found.set(path.join('.'), read.secret);
      if ('warning' in read) warnings.push(`${filePath.join('.')}: ${file} ${read.warning}`);
    } else if (need === 'required') {
      report(path, `is required: ${instead}`);
    }
  }
  return { issues, warnings, get: (path) => found.get(path), all: found };
}

function* secretPaths(
  node: SchemaNode,
  tree: unknown,
  at: ConfigPath,
): Generator<{ path: ConfigPath; need: 'required' | 'optional' }> {
  const here = at.length === 0 ? tree : valueAt(tree, at);
  if (here === undefined && at.length > 0) return;
  for (const [name, child] of Object.entries(node.properties ?? {})) {
    const path = [...at, name];
    if (child.secret !== undefined) yield { path, need: child.secret };
    else yield* secretPaths(child, tree, path);
    const list = valueAt(tree, path);
    if (child.items === undefined || !Array.isArray(list)) continue;
    for (const index of list.keys()) yield* secretPaths(child.items, tree, [...path, index]);
  }
}

function variableOf(path: ConfigPath): string {
  return `ORDER_SYNC__${path.join('__').toUpperCase()}`;
}

type SecretFile = { readonly secret: string; readonly warning?: string } | { readonly problem: string };

/**
 * The name of the file is not repeated in messages: the most likely mistake is the secret itself in its place.
 * One trailing newline is the editor's, not the secret's; anything else that is not printable is a mistake.
 */
function readSecretFile(path: string): SecretFile {
  let text: string;
  let mode: number;
  try {
    text = readFileSync(path, 'utf8').replace(/\r?\n$/, '');
    mode = statSync(path).mode;
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    return { problem: `must name a file that can be read (${reason})` };
  }
  if (text === '') return { problem: 'must name a file that is not empty' };
  if (text.length > 4096 || !/^[\x21-\x7e]+$/.test(text)) {
    return { problem: 'must name a file with one line of printable ASCII without spaces' };
  }
  if ((mode & 0o004) === 0) return { secret: text };
  return { secret: text, warning: 'can be read by every user of this machine: chmod 600' };
}
