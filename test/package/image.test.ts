import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { instructionsOf, type Instruction } from '../support/dockerfile.ts';
import { projectRoot } from '../support/worker-process.ts';

/*
 * Executes the Dockerfile where no image can be built: each stage is this machine's file system
 * with a layer of its own over it (overlayfs), in which every instruction is performed as it is
 * written, by the user that it names. Then a sandbox and a worker of deploy/compose.yaml run in it:
 * without root, without capabilities, on a read-only root. What it cannot show is the base image;
 * this machine and its Node stand in for that. It needs root and the npm registry: PACKAGE=1 runs
 * it.
 */

const mayMount = () => spawnSync('unshare', ['-m', 'true']).status === 0;
const asked = process.env['PACKAGE'] !== undefined && process.getuid?.() === 0 && mayMount();
const read = (name: string): string => readFileSync(join(projectRoot, name), 'utf8');
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

interface Stage {
  readonly name: string;
  readonly script: string;
  /** What the last instructions of each kind say. */
  readonly user: string;
  readonly environment: readonly string[];
  readonly last: ReadonlyMap<string, string>;
}

/** `A=b C=d`, as Docker reads it. */
const pairsOf = (text: string): readonly string[] =>
  text.split(/\s+/).filter((pair) => pair.includes('='));

/** The stages as shell commands that perform them; `$root` is the folder of the stage. */
function stagesOf(instructions: readonly Instruction[]): readonly Stage[] {
  const starts = instructions.flatMap(({ name }, index) => (name === 'FROM' ? [index] : []));
  return starts.map((start, index) => {
    const own = instructions.slice(start, starts[index + 1]);
    const name = / AS (\w+)$/.exec(own[0]?.rest ?? '')?.[1] ?? 'image';
    let user = 'root';
    let folder = '/';
    const environment = ['PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin'];
    const script = [`root=$place/${name}; new_layer`];
    for (const { name: what, rest } of own) {
      if (what === 'USER') user = rest;
      if (what === 'ENV') environment.push(...pairsOf(rest));
      if (what === 'WORKDIR') {
        folder = rest;
        script.push(`mkdir -p $root${folder}`);
      }
      if (what === 'COPY') {
        const [from] = /(?<=^--from=)\w+/.exec(rest) ?? [];
        const paths = rest.replace(/^--from=\w+ /, '').split(' ');
        const to = paths.pop() ?? '';
        const source = from === undefined ? '$place/context/' : `$place/${from}`;
        for (const path of paths) script.push(`copy ${source}${path} $root${folder}/ ${to}`);
      }
      if (what === 'RUN')
        script.push(
          `run ${user} ${quoted(`cd ${folder} && ${rest}`)} ${environment.map(quoted).join(' ')}`,
        );
    }
    return {
      name,
      script: script.join('\n'),
      user,
      environment,
      last: new Map(own.map((step) => [step.name, step.rest])),
    };
  });
}

/** Shell functions of the script. A layer is mounted for this script alone, and is gone with it. */
const functions = `
set -eu
new_layer() {
  mkdir -p "$root" "$root.upper" "$root.work"
  mount -t overlay overlay -o "lowerdir=/,upperdir=$root.upper,workdir=$root.work" "$root"
  mount --rbind /dev "$root/dev"; mount -t proc proc "$root/proc"; mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
  rm -rf "$root/app" "$root/data" "$root/orders"
  cp "$node" "$root/usr/local/bin/node"
  echo node:x:1000:1000::/home/node:/bin/sh >> "$root/etc/passwd"; echo node:x:1000: >> "$root/etc/group"
  mkdir -p "$root/home/node"; chown 1000:1000 "$root/home/node"
}
copy() { # one path, the folder of the stage, the target
  target=$2$3
  if [ -d "$1" ]; then mkdir -p "$target"; cp -R "$1/." "$target"; else mkdir -p "$(dirname "$target/x")"; cp "$1" "$target"; fi
}
as() { # user, then a command; nothing of this machine's environment
  user=$1; shift
  home=/root; [ "$user" = root ] || home=/home/node
  chroot "$root" setpriv --reuid="$user" --regid="$user" --clear-groups env -i HOME="$home" "$@"
}
run() { user=$1; command=$2; shift 2; as "$user" "$@" sh -c "$command"; }
`;

let place: string;
let report: ReturnType<typeof spawnSync>;

beforeAll(() => {
  if (!asked) return;
  place = mkdtempSync(join(tmpdir(), 'order-sync-image-'));
  mkdirSync(join(place, 'context'));
  const sent = read('.dockerignore')
    .split('\n')
    .filter((line) => line.startsWith('!'));
  for (const name of sent)
    cpSync(join(projectRoot, name.slice(1)), join(place, 'context', name.slice(1)), {
      recursive: true,
    });
  const stages = stagesOf(instructionsOf(read('Dockerfile')));
  const image = stages.at(-1);
  const compose = parse(read('deploy/compose.yaml'));
  writeFileSync(join(place, 'order-sync.yaml'), read('deploy/trial/order-sync.yaml'));
  const entrypoint: string[] = JSON.parse(image?.last.get('ENTRYPOINT') ?? '[]');
  const command: string[] = JSON.parse(image?.last.get('CMD') ?? '[]');
  const [, health = ''] = /CMD (.*)$/.exec(image?.last.get('HEALTHCHECK') ?? '') ?? [];
  const words = (list: readonly string[]): string => list.map(quoted).join(' ');
  const start = (args: readonly string[]): string => `contained ${words([...entrypoint, ...args])}`;
  const paths = `place=${quoted(place)}; node=${quoted(process.execPath)}`;
  const build = `${functions}
${paths}
${stages.map((stage) => stage.script).join('\n')}
echo built
du -sm "$root.upper/app" | cut -f1 > "$place/megabytes"
# What runs has a network of its own, in which its ports are free.
exec unshare -m -n bash "$place/run.sh"
`;
  const run = `set -eu
${paths}; root=$place/${image?.name ?? ''}
contained() {
  exec chroot "$root" setpriv --reuid=node --regid=node --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all \\
    env -i ${words(image?.environment ?? [])} "$@"
}
# As Docker makes named volumes: with the content and the owner of the image.
for volume in data orders sandbox; do cp -a "$root/\${volume/sandbox/data}" "$place/volume-$volume"; done
mkdir -p "$root/etc/order-sync"; cp "$place/order-sync.yaml" "$root/etc/order-sync/"
echo '127.0.0.1 localhost sandbox' > "$root/etc/hosts"
ip link set lo up
mount -o remount,ro "$root"
mount --bind "$place/volume-sandbox" "$root/data"
( ${start(compose.services.sandbox.command)} ) > "$place/sandbox.log" 2>&1 &
sandbox=$!
until grep -q 'sandbox listening' "$place/sandbox.log"; do kill -0 $sandbox; sleep 0.2; done
# Over that of the sandbox, which has its files open.
mount --bind "$place/volume-data" "$root/data"; mount --bind "$place/volume-orders" "$root/orders"
( ${start(command)} ) > "$place/worker.log" 2>&1 &
worker=$!
until grep -q 'worker started' "$place/worker.log"; do kill -0 $worker; sleep 0.2; done
( contained ${words(JSON.parse(health))} ) > "$place/health.log" 2>&1 && echo healthy
( contained sh -c 'id -u; grep -E "CapEff|CapBnd|NoNewPrivs" /proc/self/status; touch /app/x || echo read-only' ) > "$place/user.log" 2>&1
( contained sh -c 'cd /app && node bin/order-sync.js submit data/samples/1-gift-cards.json' ) > "$place/submit.log" 2>&1
until grep -q '"completed"' "$place/volume-orders/results/demo-shop/1001.json" 2>/dev/null; do kill -0 $worker; sleep 0.2; done
echo delivered
kill -TERM $worker; wait $worker && echo stopped
kill -TERM $sandbox; wait $sandbox && echo ended
`;
  writeFileSync(join(place, 'build.sh'), build);
  writeFileSync(join(place, 'run.sh'), run);
  report = spawnSync(
    'unshare',
    ['-m', '--propagation', 'private', '-p', '-f', '--kill-child', 'bash', join(place, 'build.sh')],
    {
      encoding: 'utf8',
      timeout: 580_000,
    },
  );
}, 600_000);

afterAll(() => {
  if (asked) rmSync(place, { recursive: true, force: true });
}, 300_000);

describe.skipIf(!asked)('the steps of the Dockerfile (PACKAGE=1, as root)', () => {
  const log = (name: string): string => readFileSync(join(place, name), 'utf8');

  it('make an image in which compose.yaml buys: not root, no capability, a read-only root', () => {
    const { status, stdout, stderr } = report;
    expect({ status, stdout, stderr: status === 0 ? '' : stderr }).toMatchObject({
      status: 0,
      stderr: '',
    });
    const steps = String(stdout)
      .split('\n')
      .filter((line) => /^(built|healthy|delivered|stopped|ended)$/.test(line));
    expect(steps).toEqual(['built', 'healthy', 'delivered', 'stopped', 'ended']);
    expect(log('user.log')).toMatch(
      /^1000\nCapEff:\s0+\nCapBnd:\s0+\nNoNewPrivs:\s1\n.*read-only\n$/s,
    );
  });

  it('have little in it: the bundle and one package', () => {
    expect(Number(log('megabytes'))).toBeLessThan(25);
  });
});
