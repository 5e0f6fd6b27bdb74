import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { CsvError, parse as parseCsv } from 'csv-parse/sync';
import type { Logger } from 'pino';
import { isMap, isNode, isScalar, LineCounter, parseDocument, visit } from 'yaml';
import { z } from 'zod';
import type { Clock } from '../core/clock.ts';
import { messageOf, quoted } from '../core/message-text.ts';
import { type Sku, skuSchema } from '../core/order/sku.ts';
import { normalSku, SkuMap } from '../core/order/sku-map.ts';
import { OrderSyncError } from '../core/order-sync-error.ts';
import { ownProcess } from '../ops/own-process.ts';

/** The file is checked for a change at most this often. */
const checkEveryMs = 1000;
/**
 * A changed file is read when it is this old: its writer may not have finished, and a part of a map
 * sells wrong things.
 */
const minAgeMs = 2000;
/**
 * Some 1,000 SKUs. Nothing else is done while a map is read, so another process reads a larger one,
 * or is ended in time.
 */
const [largeBytes, readWithinMs] = [65_536, 120_000];
export type SkuJobs = { readonly read: (path: string) => [string, Sku][] };
const inOwnProcess = ownProcess<SkuJobs>(join(import.meta.dirname, 'sku-process.ts'));
const readLarge = (path: string) => inOwnProcess('read', [path], AbortSignal.timeout(readWithinMs));

/**
 * The SKU map of a file, read again when the file changes. A change that cannot be read is logged
 * once, and the last good map stays in use, so a typing mistake does not stop the shop. It also
 * stays while the file is being written.
 */
export class SkuFile {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #map: SkuMap;
  #version: string;
  /** A version that may still be written, and when it was first seen. */
  #pending: { readonly version: string; readonly sinceMs: number } | null = null;
  #checkedAtMs: number;
  #reading = Promise.resolve();
  /** A large map that changed is not in use yet. */
  isBeingRead = false;
  #problem: string | null = null;

  /** @throws OrderSyncError CONFIG_INVALID when the file cannot be used */
  constructor(path: string, clock: Clock, logger: Logger) {
    this.#path = path;
    this.#clock = clock;
    this.#logger = logger;
    this.#checkedAtMs = clock.steadyMs();
    ({ version: this.#version, map: this.#map } = readSkuFile(path));
  }

  /**
   * Why the newest version of the file is not in use; null when it is. It also looks at the file,
   * for whoever asks next: a mistake is told before an order needs the map.
   */
  get problem(): string | null {
    void this.current();
    return this.#problem;
  }

  /**
   * The map of the file as it is now. While a process of its own reads a large one, it waits for
   * that, or gives the one before.
   */
  async current(waits = true): Promise<SkuMap> {
    const nowMs = this.#clock.steadyMs();
    if (!this.isBeingRead && nowMs - this.#checkedAtMs >= checkEveryMs) {
      this.#checkedAtMs = nowMs;
      this.#reading = this.#readIfChanged(nowMs);
    }
    if (waits || !this.isBeingRead) await this.#reading;
    return this.#map;
  }

  async #readIfChanged(nowMs: number): Promise<void> {
    try {
      const version = versionOf(this.#path);
      if (version === this.#version || !this.#isFinished(version, nowMs)) return;
      this.#version = version;
      this.isBeingRead = statSync(this.#path).size > largeBytes;
      const map = this.isBeingRead
        ? new SkuMap(await readLarge(this.#path))
        : loadSkuFile(this.#path);
      // It changed while it was read: the next check reads it again.
      if (versionOf(this.#path) !== version) return;
      this.#map = map;
      this.#problem = null;
      this.#logger.info(
        { file: this.#path, skus: this.#map.size },
        'the changed SKU map is in use',
      );
    } catch (error) {
      const problem = messageOf(error);
      const isNew = problem !== this.#problem;
      this.#problem = problem;
      const details = { file: this.#path, problem };
      if (isNew)
        this.#logger.error(
          details,
          'the changed SKU map cannot be used; the last good one stays in use',
        );
    } finally {
      this.isBeingRead = false;
    }
  }

  /**
   * By the time of the file, because the last check may be hours ago. A time in the future says
   * nothing: two checks do.
   */
  #isFinished(version: string, nowMs: number): boolean {
    const ageMs = this.#clock.wallMs() - statSync(this.#path).mtimeMs;
    if (ageMs >= minAgeMs) return true;
    if (this.#pending?.version !== version) this.#pending = { version, sinceMs: nowMs };
    return nowMs - this.#pending.sinceMs >= minAgeMs;
  }
}

/**
 * Reads a SKU map as it is now.
 * @throws OrderSyncError CONFIG_INVALID when the file cannot be used
 */
export function readSkuFile(path: string): { readonly version: string; readonly map: SkuMap } {
  try {
    return { version: versionOf(path), map: loadSkuFile(path) };
  } catch (cause) {
    throw new OrderSyncError(
      'CONFIG_INVALID',
      `The SKU map ${path} cannot be used: ${messageOf(cause)}`,
      {
        hint: 'correct the file that sku_map names; its form is shown in docs/storefronts.md',
        cause,
      },
    );
  }
}

/** Why a worker could not start with this file, each mistake by itself; empty: it could. */
export function mistakesOfSkuFile(path: string): readonly SkuMapMistake[] {
  try {
    loadSkuFile(path);
    return [];
  } catch (error) {
    if (error instanceof SkuMapError) return error.mistakes;
    return [wholeFile(null, `cannot be read: ${messageOf(error)}`)];
  }
}

/** @throws OrderSyncError INVALID_INPUT with the mistakes of the file */
export function loadSkuFile(path: string): SkuMap {
  return readSkuMap(
    readFileSync(path, 'utf8'),
    path.toLowerCase().endsWith('.csv') ? 'csv' : 'yaml',
  );
}

/** Time, size and inode: some editors write a new file, others write into the old one. */
function versionOf(path: string): string {
  const { mtimeNs, size, ino } = statSync(path, { bigint: true });
  return `${mtimeNs}:${size}:${ino}`;
}

const skusSchema = z
  .map(z.string().min(1).max(128), skuSchema, 'Expected a map of SKUs')
  .superRefine((skus, check) => {
    const first = new Map<string, string>();
    for (const sku of skus.keys()) {
      const other = first.get(normalSku(sku));
      if (other === undefined) first.set(normalSku(sku), sku);
      else addSame(check, [other, sku]);
    }
  });
const fileSchema = z.strictObject({ skus: skusSchema });
type Issue = z.core.$ZodIssue;

/** Both lines are named: an order could be bought as either. */
function addSame(check: z.RefinementCtx, both: readonly [string, string]): void {
  const message = `${both.map(quoted).join(' and ')} count as one SKU: case, spaces and look-alike letters are ignored`;
  for (const sku of both) check.addIssue({ code: 'custom', path: [sku], message });
}

interface SkuMapMistake {
  /** Null: it is about the file as a whole. */
  readonly line: number | null;
  /** Dotted path of the key; empty for the file as a whole. */
  readonly path: string;
  readonly rule: string;
}

/** INVALID_INPUT with the mistakes of a SKU map, at most the first 20. */
class SkuMapError extends OrderSyncError {
  readonly mistakes: readonly SkuMapMistake[];

  constructor(mistakes: readonly SkuMapMistake[], cause?: unknown) {
    const found = mistakes.slice(0, mistakesAtOnce);
    const texts = found.map(({ line, path, rule }) => {
      const place = [line === null ? '' : `line ${line}`, path]
        .filter((part) => part !== '')
        .join(', ');
      return place === '' ? rule : `${place}: ${rule}`;
    });
    super('INVALID_INPUT', `The SKU map has mistakes: ${texts.join('; ')}`, { cause });
    this.mistakes = found;
  }
}

const mistakesAtOnce = 20;
const wholeFile = (line: number | null, rule: string): SkuMapMistake => ({ line, path: '', rule });

/** `lineOf`: the line of a key, or of the nearest one above it that is in the file. */
type Content = { readonly tree: unknown; readonly lineOf: (path: Issue['path']) => number };

/**
 * Reads a SKU map: YAML `skus: { <sku>: { type, variant | plan, days, quantity, currency } }`, with
 * rules where needed, or CSV with these columns and `sku`. A map with any mistake is refused as a
 * whole.
 * @throws SkuMapError with its mistakes
 */
export function readSkuMap(content: string, format: 'yaml' | 'csv'): SkuMap {
  const { tree, lineOf } = format === 'csv' ? fromCsv(content) : fromYaml(content);
  if (isEmptyMap(tree))
    throw new SkuMapError([
      wholeFile(null, 'names no SKU: add at least one, see docs/storefronts.md'),
    ]);
  const parsed = fileSchema.safeParse(tree);
  if (parsed.success) return new SkuMap(parsed.data.skus);
  const mistakes = parsed.error.issues.slice(0, mistakesAtOnce).map((issue) => {
    const key = issue.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [];
    return {
      line: lineOf([...issue.path, ...key]),
      path: issue.path.join('.'),
      rule: issue.message,
    };
  });
  throw new SkuMapError(mistakes);
}

/** An empty file, `skus:` without anything, or without an entry. */
function isEmptyMap(tree: unknown): boolean {
  if (typeof tree !== 'object' || tree === null) return tree === null;
  if (!('skus' in tree)) return false;
  return tree.skus === null || (tree.skus instanceof Map && tree.skus.size === 0);
}

function fromYaml(content: string): Content {
  const lines = new LineCounter();
  // With string keys, a SKU of digits stays as it is written. The parser's own search for a key
  // that stands twice compares each with all others: minutes for a large map.
  const options = { stringKeys: true, uniqueKeys: false, lineCounter: lines, prettyErrors: false };
  const document = parseDocument(content, options);
  const lineAt = (offset: number): number => lines.linePos(offset).line;
  const tab = document.errors.find(({ code }) => code === 'TAB_AS_INDENT');
  const errors = tab === undefined ? document.errors : [tab];
  const mistakes = errors.map(({ pos, message }) =>
    wholeFile(lineAt(pos[0]), `is not YAML: ${message}`),
  );
  visit(document, {
    Map: (_, { items }) => {
      const seen = new Set<unknown>();
      for (const { key } of items) {
        const name = isScalar(key) ? key.value : key;
        const offset = isNode(key) ? (key.range?.[0] ?? 0) : 0;
        if (seen.has(name))
          mistakes.push(wholeFile(lineAt(offset), `the key "${String(name)}" is there twice`));
        seen.add(name);
      }
    },
  });
  if (mistakes.length > 0) throw new SkuMapError(mistakes);
  const lineOf = (path: Issue['path']): number => {
    for (let length = path.length; length > 0; length -= 1) {
      const node = document.getIn(path.slice(0, length), true);
      if (isNode(node) && node.range) return lineAt(node.range[0]);
    }
    return 1;
  };
  const skus = document.get('skus');
  if (!isMap(skus)) return { tree: document.toJS(), lineOf };
  // Not an object: `__proto__` is a SKU like others.
  const read = skus.items.map(({ key, value }) => {
    const name = isScalar(key) ? String(key.value) : '';
    return [name, isNode(value) ? value.toJS(document) : value] as const;
  });
  return { tree: { ...document.toJS(), skus: new Map(read) }, lineOf };
}

function fromCsv(content: string): Content {
  const skus = new Map<string, unknown>();
  const lines = new Map<string, number>();
  for (const { record, info } of rowsOf(content)) {
    const { sku = '', ...cells } = record;
    const first = lines.get(sku);
    if (first !== undefined) {
      throw new SkuMapError([
        wholeFile(info.lines, `the SKU "${sku}" is there twice; first in line ${first}`),
      ]);
    }
    lines.set(sku, info.lines);
    const filled = Object.entries(cells).filter(([, cell]) => cell !== '');
    skus.set(sku, Object.fromEntries(filled.map(([name, cell]) => [name, typed(name, cell)])));
  }
  return { tree: { skus }, lineOf: ([, sku = '']) => lines.get(String(sku)) ?? 1 };
}

/** `lines`: the line in which the row ends. */
type CsvRow = {
  readonly record: Record<string, string>;
  readonly info: { readonly lines: number };
};

function rowsOf(content: string): readonly CsvRow[] {
  try {
    // No name of a column contains one of these.
    const delimiter = /[,;\t]/.exec(content)?.[0] ?? ',';
    return parseCsv(content, {
      bom: true,
      delimiter,
      columns: true,
      skip_empty_lines: true,
      trim: true,
      info: true,
    });
  } catch (cause) {
    const line =
      cause instanceof CsvError && typeof cause['lines'] === 'number' ? cause['lines'] : null;
    throw new SkuMapError([wholeFile(line, `is not CSV: ${messageOf(cause)}`)], cause);
  }
}

const numbers: ReadonlySet<string> = new Set(['days', 'quantity', 'wait_h']);
const flags: ReadonlySet<string> = new Set(['split', 'partial']);

/**
 * A cell as the value of its column; text that cannot be one stays text, which the schema refuses
 * with its place.
 */
function typed(name: string, cell: string): number | boolean | string {
  if (numbers.has(name) && /^\d{1,9}$/.test(cell)) return Number(cell);
  return flags.has(name) && /^(true|false)$/i.test(cell) ? cell.toLowerCase() === 'true' : cell;
}
