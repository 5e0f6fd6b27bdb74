import { z } from 'zod';
import { assert } from '../core/order-sync-error.ts';
import { configSchema } from './schema.ts';
import type { ConfigPath } from './section-check.ts';

/** A node of the schema as data, to look up keys by path: for types, suggestions, explanations and documentation. */
export interface SchemaNode {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly items?: SchemaNode;
  readonly required?: readonly string[];
  /** The names that a map with listed keys may have. */
  readonly propertyNames?: { readonly enum?: readonly string[] };
  readonly additionalProperties?: SchemaNode | boolean;
  readonly secret?: 'required' | 'optional';
  readonly reload?: 'live' | 'restart';
}

const jsonSchema: unknown = z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' });

/** zod writes such a tree for a schema without unions, with our marks `secret` and `reload` in it. */
function isSchemaNode(value: unknown): value is SchemaNode {
  return typeof value === 'object' && value !== null && 'properties' in value;
}
assert(isSchemaNode(jsonSchema), 'the configuration schema is a map of keys');

export const schemaTree: SchemaNode = jsonSchema;

/** The node at a path; undefined when the schema has no such key. */
export function schemaNodeAt(path: ConfigPath): SchemaNode | undefined {
  let node: SchemaNode | undefined = schemaTree;
  for (const segment of path) {
    if (node === undefined) return undefined;
    if (typeof segment === 'number') node = node.items;
    else if (node.properties !== undefined) node = node.properties[segment];
    else node = typeof node.additionalProperties === 'object' ? node.additionalProperties : undefined;
  }
  return node;
}

/** Whether a reload changes this key: its own mark decides, or that of the nearest section above it. */
export function isLive(path: ConfigPath): boolean {
  let mark: SchemaNode['reload'];
  for (let length = 1; length <= path.length; length += 1) {
    mark = schemaNodeAt(path.slice(0, length))?.reload ?? mark;
  }
  return mark === 'live';
}

/** Whether this node or a node below it is a secret. */
export function holdsSecret(node: SchemaNode | undefined): boolean {
  if (node === undefined) return false;
  return node.secret !== undefined || [node.items, ...Object.values(node.properties ?? {})].some(holdsSecret);
}

export interface ConfigKey {
  /** Dotted, with `[]` for the entries of a list. */
  readonly path: string;
  readonly node: SchemaNode;
  readonly required: boolean;
}

/** Every key and section of the schema, in its order. */
export function configKeys(node: SchemaNode = schemaTree, prefix = ''): ConfigKey[] {
  const keys: ConfigKey[] = [];
  for (const [name, child] of Object.entries(node.properties ?? {})) {
    const path = prefix === '' ? name : `${prefix}.${name}`;
    keys.push({ path, node: child, required: node.required?.includes(name) ?? false });
    keys.push(...configKeys(child, path));
    if (child.items !== undefined) keys.push(...configKeys(child.items, `${path}[]`));
  }
  return keys;
}
