import { createRequire, syncBuiltinESMExports } from 'node:module';
import { onTestFinished } from 'vitest';

type Call = (path: unknown, ...rest: readonly unknown[]) => Promise<unknown>;

/**
 * Until the end of the test, the next call of `node:fs/promises` under this name, on such a path,
 * fails like a bad disk.
 */
export function failNext(name: 'lstat' | 'open', path: RegExp): void {
  const require = createRequire(import.meta.url);
  const files: Record<string, Call> = require('node:fs/promises');
  const real = files[name];
  if (real === undefined) throw new Error(`Node has no ${name}`);
  const restore = (): void => {
    files[name] = real;
    syncBuiltinESMExports();
  };
  files[name] = async (...values) => {
    if (!path.test(String(values[0]))) return await real(...values);
    restore();
    throw Object.assign(new Error(`EIO: i/o error, ${name}`), { code: 'EIO', syscall: name });
  };
  syncBuiltinESMExports();
  onTestFinished(restore);
}
