import { z } from 'zod';
import { assert } from '../core/order-sync-error.ts';
import { configSchema } from './schema.ts';

/** The schema as data, to look keys up by path: for coercion, suggestions, explanations and documentation. */
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
  /** The names that a map of free keys may have. */
  readonly propertyNames?: { readonly enum?: readonly string[] };
  readonly additionalProperties?: SchemaNode | boolean;
  readonly secret?: 'required' | 'optional';
  readonly reload?: 'live' | 'restart';
}

export type ConfigPath = readonly (string | number)[];

const jsonSchema: unknown = z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' });

/** What zod writes for a schema without unions is such a tree, with our own `secret` mark carried along. */
function isSchemaNode(value: unknown): value is SchemaNode {
  return typeof value === 'object' && value !== null && 'properties' in value;
}
assert(isSchemaNode(jsonSchema), 'the configuration schema is a map of keys');

export const schemaTree: SchemaNode = jsonSchema;

/** The node at a path, or undefined where the schema knows no such key. */
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

/** Whether a reload changes what stands at a path: by its own mark, or by that of the nearest section above it. */
export function isLive(path: ConfigPath): boolean {
  let mark: SchemaNode['reload'];
  for (let length = 1; length <= path.length; length += 1) {
    mark = schemaNodeAt(path.slice(0, length))?.reload ?? mark;
  }
  return mark === 'live';
}

/** True when a secret stands at this node or anywhere below it. */
export function holdsSecret(node: SchemaNode | undefined): boolean {
  if (node === undefined) return false;
  return node.secret !== undefined || [node.items, ...Object.values(node.properties ?? {})].some(holdsSecret);
}

export interface ConfigKey {
  /** Dotted; the place in a list is written as `[]`. */
  readonly path: string;
  readonly node: SchemaNode;
  readonly required: boolean;
}

/** Every key that can be written, sections included, in the order of the schema. */
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
