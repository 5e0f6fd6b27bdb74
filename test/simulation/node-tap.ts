import { createRequire, syncBuiltinESMExports } from 'node:module';

type Step = (...values: readonly unknown[]) => unknown;
type Built = Record<string, Step>;

/** What a run puts in the place of parts of Node. */
export interface StandIn {
  /** The calls of `node:fs/promises` on a path below `simulatedRoot`, by name. */
  readonly files: (path: string) => Readonly<Record<string, Step | undefined>>;
  readonly randomBytes: (size: number) => Buffer;
  /** `setImmediate` of `node:timers/promises`. */
  readonly nextTurn: () => Promise<void>;
}

/** No real path begins like this. */
export const simulatedRoot = '/order-sync-simulation/';

const tappedCalls = [
  'access',
  'link',
  'lstat',
  'mkdir',
  'open',
  'readdir',
  'rename',
  'statfs',
  'unlink',
  'writeFile',
] as const;

let standIn: StandIn | null = null;
let tapped = false;

/** From now on the run uses this; null: Node as it is. */
export function useStandIn(next: StandIn | null): void {
  if (next !== null && !tapped) tapNode();
  standIn = next;
}

function simulatedPath(value: unknown): string | null {
  const path =
    typeof value === 'string' ? value : Buffer.isBuffer(value) ? value.toString('utf8') : '';
  return path.startsWith(simulatedRoot) ? path : null;
}

/** Replaces `name` by a call that goes to the stand-in where `find` returns one. */
function tap(built: Built, name: string, find: (values: readonly unknown[]) => Step | null): void {
  const real = built[name];
  if (real === undefined) throw new Error(`Node has no ${name}`);
  built[name] = (...values) => {
    const instead = find(values);
    return instead === null ? real(...values) : instead(...values);
  };
}

/**
 * The folder intake uses Node's file system as it is, and so it does here: only calls on simulated
 * paths go elsewhere. Everything that imports from Node by name gets the tapped calls.
 */
function tapNode(): void {
  tapped = true;
  const require = createRequire(import.meta.url);
  const promises: Built = require('node:fs/promises');
  for (const name of tappedCalls) {
    tap(promises, name, (values) => {
      const path = simulatedPath(values[0]);
      if (path === null) return null;
      const call = standIn?.files(path)[name];
      if (call === undefined) throw new Error(`the simulation has no ${name} for ${path}`);
      return call;
    });
  }
  const crypto: Built = require('node:crypto');
  tap(crypto, 'randomBytes', (values) => {
    const [size, callback] = values;
    const current = standIn;
    return current === null || typeof size !== 'number' || callback !== undefined
      ? null
      : () => current.randomBytes(size);
  });
  const timers: Built = require('node:timers/promises');
  tap(timers, 'setImmediate', () => standIn?.nextTurn ?? null);
  syncBuiltinESMExports();
}
