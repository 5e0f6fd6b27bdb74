import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { requireRealFolder, writeFileAtomically } from '../../src/ops/files.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'order-sync-atomic-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
});

describe('a file that is replaced in one step', () => {
  it('is written beside what a crash has left, and nothing is left', async () => {
    writeFileSync(join(folder, '.1001.json.tmp'), 'the beginning of a res');
    await writeFileAtomically(join(folder, '1001.json'), 'result');
    expect(readFileSync(join(folder, '1001.json'), 'utf8')).toBe('result');
    expect(readdirSync(folder)).toEqual(['1001.json']);
    expect(lstatSync(join(folder, '1001.json')).mode & 0o777).toBe(0o600);
  });

  it.each(['.1001.json.tmp', '1001.json'])(
    'is not written where a link with the name %s leads',
    async (name) => {
      const elsewhere = join(folder, 'order-sync.db');
      writeFileSync(elsewhere, 'the outbox');
      symlinkSync(elsewhere, join(folder, name));
      await writeFileAtomically(join(folder, '1001.json'), 'result');
      expect(readFileSync(elsewhere, 'utf8')).toBe('the outbox');
      expect(lstatSync(join(folder, '1001.json')).isFile()).toBe(true);
    },
  );
});

describe('a folder that is a link', () => {
  it('is refused', async () => {
    mkdirSync(join(folder, 'data'));
    symlinkSync(join(folder, 'data'), join(folder, 'shop'));
    await expect(requireRealFolder(join(folder, 'data'))).resolves.toBeUndefined();
    await expect(requireRealFolder(join(folder, 'shop'))).rejects.toMatchObject({
      code: 'FOLDER_UNUSABLE',
    });
  });
});
