import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { projectRoot } from '../support/worker-process.ts';

let folder: string;

/** The program as it is started, from a place of its own. */
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'order-sync-start-'));
  cpSync(join(projectRoot, 'bin'), join(folder, 'bin'), { recursive: true });
  for (const name of ['src', 'sandbox']) symlinkSync(join(projectRoot, name), join(folder, name));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const { NODE_COMPILE_CACHE: _ambient, ...env } = process.env;
const start = (more: NodeJS.ProcessEnv = {}) =>
  spawnSync(process.execPath, [join(folder, 'bin/order-sync.js'), '--version'], {
    env: { ...env, ...more },
    encoding: 'utf8',
  });

describe('the compile cache of a start', () => {
  it('is kept next to the modules, and the next start uses it', () => {
    expect(start().status).toBe(0);
    expect(readdirSync(join(folder, 'node_modules/.cache/order-sync'))).toHaveLength(1);
    const { stderr } = start({ NODE_DEBUG_NATIVE: 'COMPILE_CACHE' });
    expect(stderr).toMatch(/V8 code cache for ESM \S+src\/cli\/commands\/program\.ts was accepted/);
  });

  it('is not kept where nothing can be written, and the program runs without it', () => {
    writeFileSync(join(folder, 'node_modules'), 'not a folder');
    const { status, stdout, stderr } = start();
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^order-sync \d/);
  });
});
