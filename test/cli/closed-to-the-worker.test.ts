import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Installation, installation, projectRoot, sandboxConfig } from './installation.ts';

const nobody = 65534;

/** Runs a command as a user who owns nothing. */
function asNobody({ configFile }: Installation, ...argv: readonly string[]) {
  const args = [join(projectRoot, 'bin/order-sync.js'), ...argv, '--config', configFile];
  const options = { uid: nobody, gid: nobody, encoding: 'utf8', cwd: '/' } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, args, options);
  return { code: status, stdout, stderr };
}

/** An installation of root that everybody may look into. */
async function installed(): Promise<Installation> {
  const reference = (folder: string) => `reference: { secret_file: ${folder}/reference.secret }`;
  const place = installation(
    (folder) => `${sandboxConfig(folder)}${reference(folder)}\ninit: never\n`,
  );
  chmodSync(place.folder, 0o755);
  expect(await place.run('init')).toMatchObject({ code: 0 });
  chmodSync(join(place.folder, 'reference.secret'), 0o644);
  return place;
}

describe.skipIf(process.getuid?.() !== 0)('what this user may not see', () => {
  it('is not called missing: a closed data folder', async () => {
    const place = await installed();
    for (const command of ['check-config', 'run', 'orders list']) {
      const { code, stderr } = asNobody(place, ...command.split(' '));
      expect({ command, code }).toEqual({ command, code: 5 });
      expect(stderr).toContain('order-sync.db cannot be seen: Error: EACCES');
      expect(stderr).toContain('as root, run chown 65534 on its folder');
    }
  });

  it('is not called missing: a closed config file', async () => {
    const place = await installed();
    chmodSync(place.folder, 0o700);
    expect(asNobody(place, 'check-config')).toMatchObject({
      code: 3,
      stderr: expect.stringContaining(`The config file ${place.configFile} cannot be read`),
    });
  });

  it('is named by doctor: a file of a shop, with its rights and the command', async () => {
    const place = await installed();
    for (const path of ['', ...readdirSync(place.dataDir)])
      chownSync(join(place.dataDir, path), nobody, nobody);
    const file = join(place.dataDir, 'inbox', 'orders.json');
    writeFileSync(file, '{}', { mode: 0o600 });
    expect(asNobody(place, 'doctor').stdout).toContain(
      `warn  folders: The worker cannot read a file in an inbox.\n      To do: order-sync runs as uid:gid 65534:65534, and ${file} belongs to 0:0 with mode 0600; give the file a group of the user of order-sync, and run chmod 640 on it.\n`,
    );
    chmodSync(file, 0o644);
    expect(asNobody(place, 'doctor').stdout).toContain('pass  folders');
  });
});
