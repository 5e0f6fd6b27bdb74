import { isMap, isNode, isScalar, LineCounter, parse, parseDocument, type Document } from 'yaml';
import { ConfigInvalidError } from './config-issue.ts';
import type { ConfigPath } from './section-check.ts';

/** A YAML file as a tree, with the line and column of each path. */
export interface YamlFile {
  readonly tree: object;
  has(path: ConfigPath): boolean;
  /** `file:line:column` of the path, or of the nearest section above it that is in the file. */
  placeOf(path: ConfigPath, part: 'value' | 'key'): string;
}

/** Throws CONFIG_INVALID with every duplicate key and syntax error. */
export function readYaml(name: string, text: string): YamlFile {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: true,
  });
  const at = (offset: number): string => {
    const { line, col } = lines.linePos(offset);
    return `${name}:${line}:${col}`;
  };
  const issueAt = (offset: number, problem: string) => ({ place: at(offset), path: '', problem });
  if (document.errors.length > 0) {
    // Of tabs, which may be in every line, and of what they cause, the first says enough.
    const tab = document.errors.find(({ code }) => code === 'TAB_AS_INDENT');
    const errors = tab === undefined ? document.errors : [tab];
    const issues = errors.map(({ pos, message }) =>
      issueAt(pos[0], `is not valid YAML: ${message}`),
    );
    throw new ConfigInvalidError(name, issues);
  }
  const tree: unknown = document.toJS({ maxAliasCount: 20 }) ?? {};
  if (typeof tree !== 'object' || tree === null || Array.isArray(tree))
    throw new ConfigInvalidError(name, [
      issueAt(0, 'must be a map of keys, for example "instance: my-shop"'),
    ]);
  return {
    tree,
    has: (path) => document.hasIn([...path]),
    placeOf: (path, part) => at(offsetOf(document, path, part)),
  };
}

/**
 * Reads a value in one line of text as YAML: numbers, true and false, lists and maps in brackets.
 */
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
      const pair = node.items.find(
        (item) => isScalar(item.key) && String(item.key.value) === String(segment),
      );
      if (pair === undefined) return offset;
      offset = startOf(pair.key) ?? offset;
      node = pair.value;
    } else {
      node = document.getIn(path.slice(0, index + 1), true);
      if (node === undefined) return offset;
      offset = startOf(node) ?? offset;
    }
  }
  return isScalar(node) && part === 'value' ? (startOf(node) ?? offset) : offset;
}

const startOf = (node: unknown): number | undefined => (isNode(node) ? node.range?.[0] : undefined);
