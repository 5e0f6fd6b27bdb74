import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort, isListening } from '../support/ports.ts';

interface Postgres {
  readonly url: string;
  stop(): Promise<void>;
}

/** The folder of the PostgreSQL programs: on the PATH, or where Debian installs them, newest first. */
function binFolder(): string | null {
  if (spawnSync('initdb', ['--version']).error === undefined) return '';
  const versions = '/usr/lib/postgresql';
  if (!existsSync(versions)) return null;
  const folders = readdirSync(versions).toSorted((a, b) => Number(b) - Number(a));
  const found = folders.map((version) => join(versions, version, 'bin')).find((bin) => existsSync(join(bin, 'initdb')));
  return found === undefined ? null : `${found}/`;
}

const asked = (flag: string): number =>
  Number(spawnSync('id', [flag, 'postgres'], { encoding: 'utf8' }).stdout || Number.NaN);

/** PostgreSQL does not run as root; then it runs as the user that Debian's package creates. */
function otherUser(): { uid: number; gid: number } | null | 'missing' {
  if (process.getuid?.() !== 0) return null;
  const found = { uid: asked('-u'), gid: asked('-g') };
  return Number.isInteger(found.uid) && Number.isInteger(found.gid) ? found : 'missing';
}

/**
 * Starts a PostgreSQL on a free port, with a data folder on the same disk and its defaults: fsync and
 * synchronous_commit are on. Returns the reason where it cannot be started.
 */
export async function startPostgres(): Promise<Postgres | string> {
  const bin = binFolder();
  if (bin === null) return 'there is no PostgreSQL server here';
  const user = otherUser();
  if (user === 'missing') return 'PostgreSQL does not run as root, and there is no user "postgres"';
  const as = user ?? {};
  // Not inside the bench's folder: another user cannot enter it.
  const folder = mkdtempSync(join(tmpdir(), 'order-sync-bench-postgres-'));
  if (user !== null) chownSync(folder, user.uid, user.gid);
  const data = join(folder, 'data');
  const made = spawnSync(`${bin}initdb`, ['-D', data, '-U', 'bench', '-A', 'trust', '-E', 'UTF8', '--locale=C'], {
    ...as,
    cwd: folder,
    encoding: 'utf8',
  });
  if (made.status !== 0) {
    rmSync(folder, { recursive: true, force: true });
    return `initdb failed: ${made.stderr.trim().split('\n').at(-1) ?? ''}`;
  }
  const port = await freePort();
  const args = ['-D', data, '-p', String(port), '-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories='];
  const child = spawn(`${bin}postgres`, args, { ...as, cwd: folder, stdio: 'ignore' });
  const exited = once(child, 'exit');
  const until = performance.now() + 20_000;
  while (!(await isListening(port))) {
    if (performance.now() > until) throw new Error('PostgreSQL did not come up within 20 s');
    await delay(50);
  }
  return {
    url: `postgres://bench@127.0.0.1:${port}/postgres`,
    async stop() {
      child.kill('SIGINT');
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
