import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { controlPath } from '../../src/admin/control-protocol.ts';
import { stopGraceMs } from '../../src/buying/decision/settings.ts';
import { buildProgram } from '../../src/cli/commands/program.ts';
import { processContext } from '../../src/cli/context.ts';
import type { Config } from '../../src/config/config.ts';
import { loadConfig } from '../../src/config/load.ts';
import { projectRoot } from '../support/worker-process.ts';

const folder = join(projectRoot, 'deploy');
const read = (name: string): string => readFileSync(join(folder, name), 'utf8');
const yamlFiles = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
  /\.ya?ml$/.test(name),
);

// oxlint-disable-next-line typescript/no-explicit-any -- the tests look at documents of many forms
type Resource = any;

/** Every document of a file, with merge keys (`<<`) resolved. */
function documentsOf(name: string): Resource[] {
  const documents = parseAllDocuments(read(name), { merge: true });
  if ('empty' in documents) return [];
  const problems = documents.flatMap(({ errors, warnings }) =>
    [...errors, ...warnings].map(({ message }) => message),
  );
  expect({ name, problems }).toEqual({ name, problems: [] });
  return documents.map((document) => document.toJS());
}

let place: string;
let program: Command;

beforeAll(async () => {
  place = mkdtempSync(join(tmpdir(), 'order-sync-deploy-'));
  program = await buildProgram(processContext(() => undefined));
});
afterAll(() => rmSync(place, { recursive: true, force: true }));

/**
 * Loads a configuration of an example. Its secrets are in files that exist only where it is
 * deployed.
 */
function configOf(text: string, environment: Record<string, string> = {}): Config {
  writeFileSync(join(place, 'secret'), 'a-secret-of-a-test');
  const here = (value: string): string =>
    value
      .replace('wholesale.example.com', 'api.example.com')
      .replaceAll(
        /\/(run\/secrets\/\S+|etc\/order-sync\/(?:wholesale_key|acme\.key))/g,
        join(place, 'secret'),
      );
  writeFileSync(join(place, 'order-sync.yaml'), here(text));
  const variables = Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [name, here(value)]),
  );
  return loadConfig({ file: join(place, 'order-sync.yaml'), cwd: place, environment: variables })
    .config;
}

const pathsOf = ({ dataDir, intake, results, reference }: Config): readonly string[] => {
  const [{ inbox, work, archive, rejected } = expect.unreachable()] = intake.folders;
  return [dataDir, inbox, work, archive, rejected, results.folder, reference.progressFolder];
};

/**
 * What is wrong with a command of an example: its name or its options; null when all exist. Nothing
 * runs.
 */
function problemOf([name = '', ...rest]: readonly string[]): string | null {
  const command = program.commands.find((known) => known.name() === name);
  if (command === undefined) return `there is no command ${name}`;
  const options = command.options.map(({ long }) => long);
  const unknown = rest.filter((word) => word.startsWith('--') && !options.includes(word));
  return unknown.length === 0 ? null : `${name} has no option ${unknown.join(', ')}`;
}

const image = { ORDER_SYNC__DATA_DIR: '/data' };

describe('deploy/', () => {
  it('has YAML files that can be read', () => {
    expect(yamlFiles.length).toBeGreaterThan(5);
    for (const name of yamlFiles) expect(documentsOf(name).length, name).toBeGreaterThan(0);
  });

  it('names only files of the image that are there', () => {
    for (const name of yamlFiles) {
      for (const [, path = ''] of read(name).matchAll(/\/app\/([\w./-]+)/g)) {
        expect(existsSync(join(projectRoot, path)), `${name}: /app/${path}`).toBe(true);
      }
    }
  });
});

describe('deploy/compose.yaml', () => {
  const [compose] = documentsOf('compose.yaml');

  it('needs nothing but itself: no variable, no secret, no other image', () => {
    expect(read('compose.yaml')).not.toMatch(/\$\{/);
    for (const service of Object.values<Record<string, unknown>>(compose.services)) {
      expect(service).toMatchObject({ build: '..' });
      expect(service).not.toHaveProperty('secrets');
    }
  });

  it('has a worker that speaks to the sandbox beside it, with each path in a volume', () => {
    const config = configOf(read('trial/order-sync.yaml'), image);
    expect(config.wholesale).toMatchObject({
      environment: 'sandbox',
      upstream: 'sandbox',
      baseUrl: 'http://sandbox:8090',
    });
    expect(compose.services.sandbox.command).toContain('0.0.0.0:8090');
    const volumes = compose.services['order-sync'].volumes.map(
      (volume: string) => volume.split(':')[1],
    );
    for (const path of pathsOf(config)) expect(volumes).toContain(`/${path.split('/')[1] ?? ''}`);
  });

  it('starts commands that exist', () => {
    expect(problemOf(compose.services.sandbox.command)).toBeNull();
  });
});

describe('deploy/kubernetes/', () => {
  it('has what may be applied again apart from the Job, which may not', () => {
    const kindsIn = (name: string) => documentsOf(`kubernetes/${name}`).map(({ kind }) => kind);
    expect(kindsIn('config.yaml')).not.toContain('Job');
    expect(kindsIn('init.yaml')).toEqual(['Job']);
  });

  const resources = yamlFiles.filter((name) => name.startsWith('kubernetes/')).flatMap(documentsOf);
  const pods = resources.flatMap(({ spec }) =>
    spec?.template === undefined ? [] : [spec.template.spec],
  );
  const containersOf = (pod: Resource): readonly Resource[] => [
    ...(pod.initContainers ?? []),
    ...pod.containers,
  ];
  const workers = pods
    .flatMap(containersOf)
    .filter(({ image: name }) => /\/order-sync:/.test(name));
  const configMap = resources.find(({ kind }) => kind === 'ConfigMap');

  it('mounts each path of its configuration, and only volumes and claims that are there', () => {
    expect(workers).toHaveLength(3);
    const claims = resources
      .filter(({ kind }) => kind === 'PersistentVolumeClaim')
      .map(({ metadata }) => metadata.name);
    for (const pod of pods) {
      const volumes = new Set(pod.volumes.map(({ name }: { name: string }) => name));
      const claimed = pod.volumes.flatMap(
        (volume: Resource) => volume.persistentVolumeClaim?.claimName ?? [],
      );
      expect(claims).toEqual(expect.arrayContaining(claimed));
      for (const { volumeMounts } of containersOf(pod)) {
        for (const { name } of volumeMounts) expect(volumes).toContain(name);
      }
    }
    for (const { env, volumeMounts } of workers) {
      const variables = Object.fromEntries(
        env.map(({ name, value }: { name: string; value: string }) => [name, value]),
      );
      const config = configOf(configMap.data['order-sync.yaml'], { ...image, ...variables });
      const mounted: string[] = volumeMounts.map(
        ({ mountPath }: { mountPath: string }) => mountPath,
      );
      for (const path of pathsOf(config)) expect(mounted).toContain(`/${path.split('/')[1] ?? ''}`);
      for (const value of Object.values<string>(variables))
        expect(mounted.some((at) => value.replace('file:', '').startsWith(`${at}/`))).toBe(true);
    }
  });

  it('lets one pod mount each claim, and names no two things alike', () => {
    const claims = resources.filter(({ kind }) => kind === 'PersistentVolumeClaim');
    for (const { spec } of claims) expect(spec.accessModes).toEqual(['ReadWriteOncePod']);
    // Podman makes one volume of a ConfigMap and a Secret of one name.
    const names = pods.flatMap(({ volumes }) =>
      volumes.map((volume: Resource) => volume.configMap?.name ?? volume.secret?.secretName),
    );
    expect(new Set(names.filter((name) => name !== undefined))).toEqual(
      new Set(['order-sync-config', 'order-sync-secrets']),
    );
    expect(configMap.metadata.name).toBe('order-sync-config');
  });

  it('runs every container closed: not root, no capability, a read-only root', () => {
    for (const pod of pods) {
      expect(pod).toMatchObject({
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true },
      });
      for (const container of containersOf(pod)) {
        expect(container).toMatchObject({
          securityContext: {
            readOnlyRootFilesystem: true,
            allowPrivilegeEscalation: false,
            capabilities: { drop: ['ALL'] },
          },
        });
      }
    }
  });

  it('runs one worker at a time, starts the sidecar first, and starts commands that exist', () => {
    const sets = resources.filter(({ kind }) => kind === 'StatefulSet');
    const services = resources
      .filter(({ kind }) => kind === 'Service')
      .map(({ metadata }) => metadata.name);
    // A Deployment would start a second pod beside one of a lost node.
    expect(sets.map(({ spec }) => [spec.replicas, spec.serviceName])).toEqual([
      [1, services[0]],
      [1, services[1]],
    ]);
    const sidecar = sets.find(({ metadata }) => metadata.name === 'shop').spec;
    expect(sidecar.template.spec.initContainers).toMatchObject([
      { name: 'order-sync', restartPolicy: 'Always' },
    ]);
    for (const { args, ...container } of workers) {
      expect(problemOf(args)).toBeNull();
      const probes = ['startupProbe', 'livenessProbe', 'readinessProbe'].flatMap(
        (name) => container[name] ?? [],
      );
      for (const { exec } of probes)
        expect(exec.command.join(' ')).toMatch(/^node \/app\/bin\/health\.js --(live|ready)$/);
    }
  });
});

describe('deploy/systemd/', () => {
  const units = ['order-sync.service', 'order-sync@.service'];
  const config = () => configOf(read('systemd/order-sync.yaml'));
  const hasTool = spawnSync('systemd-analyze', ['--version']).status === 0;

  it('keeps its data in the state folder of the service, and starts a command that exists', () => {
    const text = read('systemd/order-sync.service');
    expect(text).toContain('StateDirectory=order-sync\n');
    expect(config().dataDir).toBe('/var/lib/order-sync');
    const [, path = '', command = ''] =
      /^ExecStart=.*node_modules\/order-sync\/(\S+) (\S+)$/m.exec(text) ?? [];
    expect(existsSync(join(projectRoot, path))).toBe(true);
    expect(problemOf([command])).toBeNull();
    expect(Number(/TimeoutStopSec=(\d+)/.exec(text)?.[1]) * 1000).toBeGreaterThan(
      stopGraceMs + 2000,
    );
  });

  it('has a template that differs from the unit in what an account has of its own', () => {
    const [one = [], each = []] = units.map((name) => read(`systemd/${name}`).split('\n'));
    expect(each.filter((line) => !one.includes(line))).toEqual([
      expect.stringMatching(/^# /),
      expect.stringMatching(/^Description=order-sync for %i: /),
      'EnvironmentFile=/etc/order-sync/%i.env',
      'StateDirectory=order-sync/%i',
    ]);
    expect(one.filter((line) => !each.includes(line))).toHaveLength(4);
  });

  it('has an account whose paths are those of its name, with the configuration that all share', () => {
    const { ORDER_SYNC_CONFIG: shared, ...own } = Object.fromEntries(
      read('systemd/account.env')
        .split('\n')
        .filter((line) => /^\w/.test(line))
        .map((line) => line.split('=')),
    );
    expect(shared).toBe('/etc/order-sync/order-sync.yaml');
    const account = configOf(read('systemd/order-sync.yaml'), own);
    expect([account.instance, account.dataDir]).toEqual(['acme', '/var/lib/order-sync/acme']);
    expect(account.reference.secretFile).toMatch(/^\/var\/lib\/order-sync\/acme\//);
    expect(account.admin.listen.port).not.toBe(config().admin.listen.port);
  });

  it.skipIf(!hasTool).each(units)(
    'has nothing that systemd-analyze finds, and little exposure: %s',
    (name) => {
      // Of a template, one of its instances.
      const unit = join(place, name.replace('@.', '@acme.'));
      cpSync(join(folder, 'systemd', name), unit);
      const { stdout } = spawnSync('systemd-analyze', ['security', '--offline=true', unit], {
        encoding: 'utf8',
      });
      const exposure = /Overall exposure level for order-sync\S*\.service: ([\d.]+)/.exec(
        stdout,
      )?.[1];
      expect(Number(exposure)).toBeLessThanOrEqual(2);
      const { stderr } = spawnSync('systemd-analyze', ['verify', unit], { encoding: 'utf8' });
      // What is not installed on this machine says nothing about the unit.
      const found = stderr
        .split('\n')
        .filter((line) => line.includes('order-sync') && !line.includes('is not executable'));
      expect(found).toEqual([]);
    },
  );
});

describe('deploy/caddy/ and deploy/litestream/', () => {
  const caddyfile = read('caddy/Caddyfile');

  it('lead to the addresses of the worker, and close its own routes', () => {
    const { admin, intake } = configOf(
      'instance: a\nwholesale: { base_url: "https://a.example", keys: [{ name: a, value: file:/run/secrets/a }] }\n' +
        'intake: { webhook: { listen: 127.0.0.1:8080, tokens: [{ name: a, value: file:/run/secrets/b }] } }\n',
    );
    // Where `type` of a problem leads.
    expect(caddyfile).toMatch(/@intake path .* \/docs /);
    for (const address of [admin.listen, intake.webhook?.listen]) {
      expect(caddyfile).toContain(`reverse_proxy ${address?.host}:${address?.port}`);
    }
    expect(caddyfile).toContain(`@own path ${controlPath.replace(/[^/]+$/, '*')} `);
  });

  it.skipIf(spawnSync('caddy', ['version']).status !== 0)(
    'is a Caddyfile that Caddy accepts and has formatted',
    () => {
      const file = join(folder, 'caddy/Caddyfile');
      const run = (...args: string[]) =>
        spawnSync('caddy', args, {
          encoding: 'utf8',
          env: { PATH: process.env['PATH'], HOME: place },
        });
      const validated = run('validate', '--adapter', 'caddyfile', '--config', file);
      expect({
        status: validated.status,
        error: validated.status === 0 ? '' : validated.stderr,
      }).toMatchObject({
        error: '',
      });
      expect(run('fmt', file).stdout).toBe(caddyfile);
    },
  );

  it('copy the database of the service', () => {
    const [{ dbs }] = documentsOf('litestream/litestream.yml');
    expect(dbs).toMatchObject([{ path: configOf(read('systemd/order-sync.yaml')).databasePath }]);
  });
});
