import { chmodSync, chownSync, readFileSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { installation, projectRoot } from './installation.ts';

/** A production worker, set up. */
async function place() {
  const made = installation(
    (folder) => `instance: acme
data_dir: ${folder}/data
wholesale: { base_url: https://api.example.com, keys: [{ name: main, value: file:${folder}/secrets.key }] }
seal: { keys: [{ id: k1, value: file:${folder}/absent.key }] }
admin: { listen: 127.0.0.1:0 }
`,
  );
  writeFileSync(join(made.folder, 'secrets.key'), 'sk-main', { mode: 0o600 });
  writeFileSync(join(made.folder, 'absent.key'), 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=', {
    mode: 0o600,
  });
  expect(await made.run('init')).toMatchObject({ code: 0 });
  return made;
}

describe('a secret that this user may not read', () => {
  it('is not needed to look: at orders, at the queue, at the database', async () => {
    const made = await place();
    const missing = (text: string) =>
      text.replace('secrets.key', 'no.key').replace('absent.key', 'none.key');
    writeFileSync(made.configFile, missing(readFileSync(made.configFile, 'utf8')));
    for (const command of [
      ['orders', 'list'],
      ['queue', 'status'],
      ['queue', 'status', '--explain'],
      ['db', 'check'],
    ]) {
      const { code, stderr } = await made.run(...command);
      expect({ command, code, stderr: code === 0 ? '' : stderr }).toEqual({
        command,
        code: 0,
        stderr: '',
      });
    }
    // It reads no secret: nobody runs, so nobody answers.
    expect(await made.run('health')).toMatchObject({ code: 6 });
    // What decides or calls needs them.
    for (const command of [['run'], ['doctor'], ['check-config']]) {
      const { stdout, stderr } = await made.run(...command);
      expect(stdout + stderr).toContain(
        'wholesale.keys.0.value must name a file that can be read (ENOENT)',
      );
    }
  });

  it.skipIf(process.getuid?.() !== 0)(
    'is named with its rights and with the user, as root sees it',
    async () => {
      const made = await place();
      const key = join(made.folder, 'secrets.key');
      chmodSync(made.folder, 0o755);
      chmodSync(made.configFile, 0o644);
      const asNobody = () =>
        spawnSync(
          process.execPath,
          [join(projectRoot, 'bin/order-sync.js'), 'check-config', '--config', made.configFile],
          { uid: 65534, gid: 65534, encoding: 'utf8', cwd: '/' },
        ).stderr;
      const self = 'order-sync runs as uid:gid 65534:65534';
      expect(asNobody()).toContain(
        `must name a file that can be read, but ${self}, and ${key} belongs to 0:0 with mode 0600: `,
      );
      chownSync(key, 65534, 65534);
      expect(asNobody()).not.toContain(key);
    },
  );
});
