import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { checkFolders } from '../../../src/intake/folder/filesystem.ts';
import { folderSettings } from '../../support/intake-settings.ts';

let place: string;

beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'order-sync-shared-inbox-'));
  chmodSync(place, 0o755);
  onTestFinished(() => rmSync(place, { recursive: true }));
});

const folders = () => {
  const [inbox, work, archive, rejected] = ['inbox', 'work', 'archive', 'rejected'].map((name) =>
    join(place, name),
  );
  return { inbox: inbox ?? '', work: work ?? '', archive: archive ?? '', rejected: rejected ?? '' };
};
const check = (gid: number | null) =>
  checkFolders({ ...folderSettings, ...folders(), gid }, 'a-test');
const modes = () =>
  Object.values(folders()).map((path) => (statSync(path).mode & 0o7777).toString(8));

describe('the folders of the intake', () => {
  it('are closed to others without a group', async () => {
    await check(null);
    expect(modes()).toEqual(['700', '700', '700', '700']);
  });

  it('let a group write into the inbox and read what was rejected, also those that were made before', async () => {
    mkdirSync(folders().inbox, { mode: 0o700 });
    await check(process.getgid?.() ?? 0);
    expect(modes()).toEqual(['770', '700', '700', '750']);
  });

  // The user of the WordPress image.
  it.skipIf(process.getuid?.() !== 0)(
    'take a file of another user of the group, as root only',
    async () => {
      const drop = () =>
        spawnSync('sh', ['-c', 'umask 027; echo {} > .a.tmp && mv .a.tmp a.json'], {
          cwd: folders().inbox,
          uid: 33,
          gid: 33,
        }).status;
      await check(null);
      expect(drop()).not.toBe(0);
      await check(33);
      expect(drop()).toBe(0);
      expect(readdirSync(folders().inbox)).toEqual(['a.json']);
      writeFileSync(join(folders().work, 'secret'), '');
      const look = spawnSync('ls', [folders().work], { uid: 33, gid: 33 });
      expect(look.status).not.toBe(0);
      expect(existsSync(folders().archive)).toBe(true);
    },
  );
});
