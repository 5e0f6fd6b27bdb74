import { createHash } from 'node:crypto';
import { filePrefix } from '../core/settings/schema-values.ts';
import type { ConfigValue } from './config.ts';
import type { Origins } from './layers.ts';
import type { ConfigDocument, Readings } from './resolve.ts';
import { schemaNodeAt } from './schema-tree.ts';
import { type ConfigPath, isBranch } from './section-check.ts';

/** Every effective value and who set it. Secrets are masked. */
export function explainValues(document: ConfigDocument, origins: Origins): ConfigValue[] {
  return leaves(document, []).map(({ path, value }) => {
    const { kind = 'default', place = '' } = origins.of(path) ?? {};
    return { path: path.join('.'), value: shownValue(path, value), source: kind, place };
  });
}

/**
 * A digest of every effective value, by its path; of a secret or certificates, that of their
 * content, not of its file's name.
 */
export function digestValues(document: ConfigDocument, readings: Readings): Map<string, string> {
  const digests = new Map(
    leaves(document, []).map(({ path, value }) => [path.join('.'), digest(value)]),
  );
  for (const [path, secret] of readings) digests.set(path, digest(secret));
  return digests;
}

const digest = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex');

function leaves(value: unknown, path: ConfigPath): { path: ConfigPath; value: unknown }[] {
  if (value === undefined) return [];
  // A section without a type is opaque: another module reads it.
  if (!isBranch(value) || schemaNodeAt(path)?.type === undefined) return [{ path, value }];
  const entries = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  if (entries.length === 0 && schemaNodeAt(path)?.properties === undefined)
    return [{ path, value }];
  return entries.flatMap(([key, child]) => leaves(child, [...path, key]));
}

function shownValue(path: ConfigPath, value: unknown): unknown {
  const node = schemaNodeAt(path);
  if (node?.secret !== undefined) return String(value).startsWith(filePrefix) ? value : '***';
  // `sandbox` may hold secrets that this schema does not mark.
  return node?.type === undefined && path.join('.') !== 'wholesale.wire' ? '(set)' : value;
}
