import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');

function git(...args: readonly string[]): string {
  return execFileSync('git', ['-C', root, ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim();
}

/**
 * The commit that a run tested, with `+changes` when the files differ from it; `unknown` outside a
 * repository.
 */
export function sourceVersion(): string {
  try {
    const changed =
      git('status', '--porcelain', '--', 'src', 'test/simulation', 'package-lock.json') !== '';
    return `${git('rev-parse', '--short=12', 'HEAD')}${changed ? '+changes' : ''}`;
  } catch {
    return 'unknown';
  }
}
