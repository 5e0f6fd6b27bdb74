import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { folderWith } from '../config/config-file.ts';
import { instructionsOf, type Instruction } from '../support/dockerfile.ts';

const root = resolve(import.meta.dirname, '../..');
const read = (name: string): string => readFileSync(join(root, name), 'utf8');

const all = instructionsOf(read('Dockerfile'));
const lastStage = all.slice(all.findLastIndex(({ name }) => name === 'FROM'));
const of = (stage: readonly Instruction[], name: string): string[] =>
  stage.filter((instruction) => instruction.name === name).map(({ rest }) => rest);

describe('the container image', () => {
  it('is built in two stages from the same slim image of the required Node version', () => {
    const bases = of(all, 'FROM');
    expect(bases).toHaveLength(2);
    for (const base of bases) expect(base).toMatch(/^node:24-bookworm-slim( AS \w+)?$/);
    const engines: string = JSON.parse(read('package.json')).engines.node;
    expect(engines).toMatch(/^>=24\./);
  });

  it('is built from the lock file, runs no script of a dependency, and takes over the bundle alone', () => {
    const installs = of(all, 'RUN').filter((run) => run.includes('npm '));
    expect(installs).toHaveLength(1);
    // A script of a dependency could do anything.
    expect(installs[0]).toMatch(/npm install --ignore-scripts /);
    expect(of(all, 'COPY')).toContain('package.json package-lock.json .npmrc ./');
    expect(of(lastStage, 'RUN').join()).not.toMatch(/npm |apt-get|curl/);
    expect(of(lastStage, 'COPY')).toEqual(['--from=build /app/image ./']);
  });

  it('may be read and not be changed by the worker, whatever umask the checkout has', () => {
    const steps = all.map(({ rest }) => rest);
    expect(steps.find((step) => step.includes('chmod -R u=rwX,go=rX image'))).toBeDefined();
    expect(of(lastStage, 'RUN').join()).not.toMatch(/chown|\/app\/.*-o node/);
  });

  it('runs as a user who is not root and who owns the volume', () => {
    expect(of(lastStage, 'USER').at(-1)).toBe('node');
    expect(of(lastStage, 'VOLUME')).toEqual(['/data /orders']);
    const owned = lastStage.findIndex(({ rest }) =>
      /install -d -o node .* \/progress \/backups \/data && .* -o node .* \/orders$/.test(rest),
    );
    expect(owned).toBeGreaterThan(0);
    expect(owned).toBeLessThan(lastStage.findIndex(({ name }) => name === 'USER'));
  });

  it('starts the worker without a shell, so SIGTERM reaches it', () => {
    const [entrypoint = ''] = of(lastStage, 'ENTRYPOINT');
    const [command = ''] = of(lastStage, 'CMD');
    expect(JSON.parse(entrypoint)).toEqual(['node', '--disable-sigusr1', '/app/bin/order-sync.js']);
    expect(JSON.parse(command)).toEqual(['run']);
    expect(of(lastStage, 'STOPSIGNAL')).toEqual(['SIGTERM']);
  });

  it('checks its health without a shell, by a script that loads nothing of the program', () => {
    const [check = ''] = of(lastStage, 'HEALTHCHECK');
    const command = check.slice(check.indexOf('CMD ') + 4);
    expect(JSON.parse(command)).toEqual(['node', '/app/bin/health.js', '--live']);
  });

  it('contains no secret and no local configuration', () => {
    expect(of(lastStage, 'ENV').join()).not.toMatch(/key|secret|token/i);
    expect(all.some(({ name }) => name === 'ARG')).toBe(false);
    const ignored = read('.dockerignore').split('\n');
    expect(ignored[0]).toBe('*');
    expect(ignored).toContain('config/order-sync.yaml');
  });

  it('copies existing files only', () => {
    const copied = of(all, 'COPY')
      .filter((copy) => !copy.startsWith('--from'))
      .flatMap((copy) => copy.split(' ').slice(0, -1));
    for (const name of copied) {
      expect(existsSync(join(root, name))).toBe(true);
      expect(read('.dockerignore').split('\n')).toContain(`!${name}`);
    }
  });
});

describe('the compose example for production', () => {
  const compose = parse(read('deploy/compose.production.yaml'));
  const worker = compose.services['order-sync'];

  it('gives the worker no unneeded rights, and no more memory and processes than it needs', () => {
    const bounds = {
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      tmpfs: ['/tmp'],
    };
    const trial = parse(read('deploy/compose.yaml'), { merge: true }).services;
    for (const service of [worker, trial['order-sync'], trial.sandbox]) {
      expect(service).toMatchObject({ ...bounds, mem_limit: '256m', pids_limit: 64, init: true });
      expect(service.logging.options).toHaveProperty('max-size');
    }
  });

  it('needs no shop to start', () => {
    expect(compose.services.shop).toMatchObject({
      profiles: ['shop'],
      image: '${SHOP_IMAGE:-your-shop}',
    });
  });

  it('gives the shop the folders of orders, and not the database', () => {
    expect(compose.services.shop.volumes).toEqual(['orders:/orders']);
  });

  it.each([
    ['by its file', read('deploy/production/order-sync.yaml')],
    ['by that of the README', /```yaml\n(.*?)```/s.exec(read('README.md'))?.[1] ?? ''],
  ])('configures a worker with every path in a volume, %s', (_which, text) => {
    const cwd = folderWith({
      'order-sync.yaml': text.replace('wholesale.example.com', 'api.example.com'),
    });
    const dataDir = /ORDER_SYNC__DATA_DIR=(\S+)/.exec(of(lastStage, 'ENV').join(' '))?.[1];
    const { config } = loadConfig({
      file: 'order-sync.yaml',
      cwd,
      environment: {
        ORDER_SYNC__DATA_DIR: dataDir,
        ...worker.environment,
        ORDER_SYNC__WHOLESALE__KEYS__0__VALUE: 'file:key',
      },
    });
    const [{ inbox, work, archive, rejected } = expect.unreachable()] = config.intake.folders;
    expect(config.databasePath).toMatch(/^\/data\//);
    for (const path of [inbox, work, archive, rejected, config.results.folder])
      expect(path).toMatch(/^\/orders\//);
    expect(config.reference.secretFile).toBe('/run/secrets/reference_secret');
    // Secrets cannot be written, and the data volume may be restored.
    const folders = worker.volumes.map((volume: string) => volume.split(':')[1]);
    expect(folders).toEqual(
      expect.arrayContaining(['/data', '/orders', config.reference.progressFolder]),
    );
    expect(config.reference.progressFolder).not.toMatch(/^\/data/);
  });

  it('gives the worker enough time to stop before it is killed', () => {
    expect(Number.parseInt(worker.stop_grace_period, 10) * 1000).toBeGreaterThan(9000);
  });

  it('passes secrets as files, with the reference secret and the backups outside the data volume', () => {
    const { ORDER_SYNC__BACKUP__FOLDER: backups, ...secrets } = worker.environment;
    expect(worker.volumes).toContain(`backups:${backups}`);
    for (const value of Object.values<string>(secrets))
      expect(worker.secrets).toContain(/^(?:file:)?\/run\/secrets\/(\w+)$/.exec(value)?.[1]);
    expect(Object.keys(compose.secrets)).toEqual(worker.secrets);
  });
});
