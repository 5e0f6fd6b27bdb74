import { z } from 'zod';
import { assert } from '../core/order-sync-error.ts';
import { configSchema } from './schema.ts';
import type { ConfigPath } from './section-check.ts';

/**
 * A node of the schema as data, to look up keys by path: for types, suggestions, explanations and
 * documentation.
 */
export interface SchemaNode {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly items?: SchemaNode;
  readonly anyOf?: readonly SchemaNode[];
  readonly required?: readonly string[];
  /** The names that a map with listed keys may have. */
  readonly propertyNames?: { readonly enum?: readonly string[] };
  readonly additionalProperties?: SchemaNode | boolean;
  readonly secret?: 'required' | 'optional';
  readonly path?: boolean;
  /** The content of the file belongs in the configuration. */
  readonly certificates?: boolean;
  readonly reload?: 'live' | 'restart';
}

/** zod writes such a tree, with our marks in it. */
function isSchemaNode(value: unknown): value is SchemaNode {
  return typeof value === 'object' && value !== null && 'properties' in value;
}

export function schemaTreeOf(schema: z.ZodType): SchemaNode {
  const tree: unknown = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  assert(isSchemaNode(tree), 'the schema is a map of keys');
  return tree;
}

export const schemaTree: SchemaNode = schemaTreeOf(configSchema);

/**
 * The node at a path; undefined when the schema has no such key. Of a choice, the one that is a
 * map.
 */
export function schemaNodeAt(
  path: ConfigPath,
  tree: SchemaNode = schemaTree,
): SchemaNode | undefined {
  let node: SchemaNode | undefined = tree;
  for (const segment of path) {
    if (node === undefined) return undefined;
    if (typeof segment === 'number') node = node.items;
    else if (node.properties !== undefined) node = node.properties[segment];
    else
      node = typeof node.additionalProperties === 'object' ? node.additionalProperties : undefined;
    node = node?.anyOf?.find(({ properties }) => properties !== undefined) ?? node;
  }
  return node;
}

/**
 * Whether a reload changes this key: its own mark decides, or that of the nearest section above it.
 */
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
  return (
    node.secret !== undefined ||
    [node.items, ...Object.values(node.properties ?? {})].some(holdsSecret)
  );
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
