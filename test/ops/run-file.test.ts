import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readRunFile, removeRunFile, writeRunFile } from '../../src/ops/run-file.ts';

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'order-sync-run-'));
  onTestFinished(() => rmSync(path, { recursive: true }));
  return path;
}

const run = {
  pid: 42,
  started_at: '2026-11-21T12:00:00.000Z',
  version: '1.2.3',
  admin_address: '127.0.0.1:43210',
};

describe('the run file', () => {
  it('has the address of the worker, until the worker removes it', async () => {
    const data = folder();
    await writeRunFile(data, run);
    expect(readRunFile(data)).toEqual(run);
    removeRunFile(data, 42);
    expect(readdirSync(data)).toEqual([]);
  });

  it('is replaced by the next worker after a kill, and only that worker removes it', async () => {
    const data = folder();
    await writeRunFile(data, run);
    await writeRunFile(data, { ...run, pid: 43 });
    removeRunFile(data, 42);
    expect(readRunFile(data)).toMatchObject({ pid: 43 });
  });

  it('is read as null when it is absent, damaged or of another form', () => {
    const data = folder();
    expect(readRunFile(data)).toBeNull();
    for (const text of ['', '{', '{"pid":"x"}', 'null']) {
      writeFileSync(join(data, 'run.json'), text);
      expect(readRunFile(data)).toBeNull();
    }
  });
});
