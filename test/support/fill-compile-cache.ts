import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';

/**
 * A killed process writes no compile cache, so one that ends by itself fills it before the first
 * test.
 */
export function setup(): void {
  const root = resolve(import.meta.dirname, '../..');
  const modules = [
    'src/cli/commands/program.ts',
    'src/app/start-worker.ts',
    'sandbox/create-sandbox.ts',
  ];
  const script = modules
    .map((path) => `await import(${JSON.stringify(resolve(root, path))});`)
    .join('');
  execFileSync(process.execPath, ['--input-type=module', '-e', script], {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      NODE_COMPILE_CACHE: resolve(root, 'node_modules/.cache/order-sync-tests'),
    },
  });
}
