import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { ResultFolder } from '../../src/results/result-folder.ts';

let parent: string;
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'order-sync-result-folder-'));
  onTestFinished(() => rmSync(parent, { recursive: true }));
});

const modeOf = (path: string): string => (lstatSync(path).mode & 0o7777).toString(8);
const write = (folder: ResultFolder): Promise<void> =>
  folder.replace('shop1', '1.json', (draft) => draft.writeFile('{}'));

describe('the folder of results', () => {
  it.each([
    [0o600, null, '600', '750'],
    [0o640, process.getgid?.() ?? 0, '640', '750'],
    [0o644, null, '644', '755'],
  ])(
    'with files of mode %o and group %s has files of mode %s in folders of mode %s',
    async (mode, gid, file, folder) => {
      const root = join(parent, 'results');
      await write(new ResultFolder(root, { mode, gid }));
      expect(['', 'shop1'].map((name) => modeOf(join(root, name)))).toEqual([folder, folder]);
      expect(modeOf(join(root, 'shop1', '1.json'))).toBe(file);
    },
  );

  it('lets the readers into folders that were closed before, and takes no permission away', async () => {
    const root = join(parent, 'results');
    mkdirSync(join(root, 'shop1'), { recursive: true });
    chmodSync(root, 0o700);
    chmodSync(join(root, 'shop1'), 0o770);
    await write(new ResultFolder(root, { mode: 0o640, gid: process.getgid?.() ?? 0 }));
    expect([modeOf(root), modeOf(join(root, 'shop1'))]).toEqual(['750', '770']);
  });

  it('changes nothing where a link in it leads', async () => {
    const root = join(parent, 'results');
    mkdirSync(root);
    mkdirSync(join(parent, 'elsewhere'), { mode: 0o700 });
    symlinkSync(join(parent, 'elsewhere'), join(root, 'shop1'));
    await expect(write(new ResultFolder(root, { mode: 0o644, gid: null }))).rejects.toMatchObject({
      code: 'FOLDER_UNUSABLE',
    });
    expect(modeOf(join(parent, 'elsewhere'))).toBe('700');
  });

  // Only root can be another user.
  it.skipIf(process.getuid?.() !== 0)(
    'can be read by another user of its group, and by nobody else',
    async () => {
      const root = join(parent, 'results');
      chmodSync(parent, 0o711);
      const gid = 61_234;
      await write(new ResultFolder(root, { mode: 0o640, gid }));
      const file = join(root, 'shop1', '1.json');
      const readAs = (group: number): string => {
        try {
          return execFileSync('cat', [file], {
            uid: 61_235,
            gid: group,
            encoding: 'utf8',
            stdio: 'pipe',
          });
        } catch {
          return 'denied';
        }
      };
      expect([readAs(gid), readAs(61_236)]).toEqual(['{}', 'denied']);
      // A folder of somebody else stays as its owner made it.
      chownSync(join(root, 'shop1'), 61_235, 61_236);
      await write(new ResultFolder(root, { mode: 0o640, gid }));
      expect(lstatSync(join(root, 'shop1')).gid).toBe(61_236);
      expect(existsSync(file)).toBe(true);
    },
  );

  it('leaves no draft of a file that could not be written', async () => {
    const root = join(parent, 'results');
    const folder = new ResultFolder(root, { mode: 0o600, gid: null });
    await write(folder);
    const failing = folder.replace('shop1', '2.json', async (draft) => {
      await draft.writeFile('a code');
      throw new Error('no space');
    });
    await expect(failing).rejects.toThrow('no space');
    expect(execFileSync('ls', ['-A', join(root, 'shop1')], { encoding: 'utf8' })).toBe('1.json\n');
  });
});
