import { isMap, isScalar, LineCounter, parse, parseDocument, type Document } from 'yaml';
import type { ConfigIssue } from './config-issue.ts';
import type { ConfigPath } from './section-check.ts';

/** A YAML file as a tree, with the line and column of each path. */
export interface YamlFile {
  readonly tree: unknown;
  readonly issues: readonly ConfigIssue[];
  has(path: ConfigPath): boolean;
  /** `file:line:column` of the path, or of the nearest section above it that is in the file. */
  placeOf(path: ConfigPath, part: 'value' | 'key'): string;
}

/** Reads YAML strictly: duplicate keys and syntax errors are issues. */
export function readYaml(name: string, text: string): YamlFile {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true });
  const at = (offset: number): string => {
    const { line, col } = lines.linePos(offset);
    return `${name}:${line}:${col}`;
  };
  const issues = document.errors.map((error) => ({
    place: at(error.pos[0]),
    path: '',
    problem: `is not valid YAML: ${error.message}`,
  }));
  let tree: unknown = {};
  if (issues.length === 0) {
    tree = document.toJS({ maxAliasCount: 20 }) ?? {};
    if (typeof tree !== 'object' || tree === null || Array.isArray(tree)) {
      issues.push({ place: at(0), path: '', problem: 'must be a map of keys, for example "instance: my-shop"' });
      tree = {};
    }
  }
  return {
    tree,
    issues,
    has: (path) => document.hasIn([...path]),
    placeOf: (path, part) => at(offsetOf(document, path, part)),
  };
}

/** Reads a value in one line of text as YAML: numbers, true and false, lists and maps in brackets. */
export function parseYamlValue(text: string): unknown {
  try {
    return parse(text);
  } catch {
    return text;
  }
}

function offsetOf(document: Document, path: ConfigPath, part: 'value' | 'key'): number {
  let node: unknown = document.contents;
  let offset = 0;
  for (const [index, segment] of path.entries()) {
    if (isMap(node)) {
      const pair = node.items.find((item) => isScalar(item.key) && String(item.key.value) === String(segment));
      if (pair === undefined) return offset;
      offset = (isScalar(pair.key) && pair.key.range?.[0]) || offset;
      node = pair.value;
    } else {
      const child: unknown = document.getIn(path.slice(0, index + 1), true);
      if (child === undefined) return offset;
      node = child;
      offset = rangeStart(child) ?? offset;
    }
  }
  return isScalar(node) && part === 'value' ? (rangeStart(node) ?? offset) : offset;
}

function rangeStart(node: unknown): number | undefined {
  if (typeof node !== 'object' || node === null || !('range' in node)) return undefined;
  const range = node.range;
  return Array.isArray(range) && typeof range[0] === 'number' ? range[0] : undefined;
}
