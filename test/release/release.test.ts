import { execFileSync, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { projectRoot } from '../support/worker-process.ts';

let folder: string;
const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: folder, encoding: 'utf8' }).trim();
const write = (file: string, text: string): void => writeFileSync(join(folder, file), text);
const commit = (): string => {
  git('add', '--all');
  return git('commit', '--quiet', '--message', 'change');
};

/** A small project with the scripts of this one: it has no dependencies, and its tests pass. */
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'order-sync-releasing-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(join(projectRoot, 'scripts'), join(folder, 'scripts'), { recursive: true });
  const dumps = 'test/store/tagged-databases';
  mkdirSync(join(folder, dumps), { recursive: true });
  write(`${dumps}/1.0.0-schema-1.sql`, '');
  const own = { name: 'order-sync', version: '0.9.0' };
  const scripts = {
    check: 'true',
    test: 'true',
    'test:package': 'true',
    package: 'npm pack --pack-destination',
    sbom: 'echo {}',
  };
  write('package.json', JSON.stringify({ ...own, type: 'module', scripts }, null, 2));
  const lock = { ...own, lockfileVersion: 3, requires: true, packages: { '': own } };
  write('package-lock.json', JSON.stringify(lock, null, 2));
  write('CHANGELOG.md', '# Changelog\n\n## [Unreleased]\n\n- Buys.\n');
  write('.gitignore', 'node_modules\n/release/\n');
  git('init', '--quiet', '--initial-branch', 'main');
  git('config', 'user.name', 'Anna');
  git('config', 'user.email', 'anna@example.com');
  commit();
});

function release(args: readonly string[], more: NodeJS.ProcessEnv = {}) {
  const { NPM_REGISTRY: _npm, IMAGE_REGISTRY: _registry, IMAGE: _image, ...own } = process.env;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/release.ts', ...args], {
    cwd: folder,
    env: { ...own, ...more },
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

/** A PATH with a `docker` of these commands: the engine is not part of the test. */
function withDocker(commands: string): string {
  const bin = join(folder, 'node_modules/bin');
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, 'docker'), `#!/bin/sh\n${commands}\n`, { mode: 0o755 });
  return `${bin}:${process.env['PATH']}`;
}

describe('a release', () => {
  it.each<[string, () => void, string[], RegExp]>([
    ['no version', () => undefined, ['main'], /Refused: Usage: /],
    [
      'a file that is not committed',
      () => write('new.ts', ''),
      ['1.0.0'],
      /not committed:\n\?\? new\.ts/,
    ],
    ['a tag that is there', () => git('tag', 'v1.0.0'), ['1.0.0'], /tag v1\.0\.0 is there already/],
    [
      'no branch',
      () => git('checkout', '--quiet', '--detach'),
      ['1.0.0'],
      /no branch is checked out/,
    ],
    ['fewer tests', () => undefined, ['1.0.0', '--tests', 'true'], /untested tree is not released/],
    [
      'no changes in CHANGELOG.md',
      () => {
        write('CHANGELOG.md', '## [Unreleased]\n');
        commit();
      },
      ['1.0.0'],
      /CHANGELOG\.md says nothing about 1\.0\.0/,
    ],
    [
      'changes beside its section of CHANGELOG.md',
      () => {
        appendFileSync(join(folder, 'CHANGELOG.md'), '\n## [1.0.0]\n\n- Sells.\n');
        commit();
      },
      ['1.0.0'],
      /more under \[Unreleased\]/,
    ],
  ])('is refused: %s', (_what, prepare, args, problem) => {
    prepare();
    const before = git('rev-parse', 'HEAD');
    const { status, stderr } = release([...args, '--without-image']);
    expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringMatching(problem) });
    expect(git('rev-parse', 'HEAD')).toBe(before);
  });

  it('is refused where docker buildx does not answer, unless the image is left out', () => {
    const { status, stderr } = release(['1.0.0', '--dry-run'], { PATH: withDocker('exit 1') });
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr:
        'Refused: docker buildx does not answer here: there would be no image; --without-image goes on\n',
    });
  });

  it('builds the image with a list of what is in it, and pushes it where a registry is named', () => {
    const { status } = release(['1.0.0'], {
      PATH: withDocker(`mkdir -p '${folder}/release' && echo "$*" >>'${folder}/release/calls'`),
      IMAGE: 'orders',
      IMAGE_REGISTRY: '127.0.0.1:1/shop',
    });
    expect(status).toBe(0);
    const builds = readFileSync(join(folder, 'release/calls'), 'utf8').match(/^buildx build .*$/gm);
    const label = 'org.opencontainers.image';
    const build = `buildx build --sbom=true --provenance=true --label ${label}.version=1.0.0 --label ${label}.revision=${git('rev-parse', 'HEAD')} --tag 127.0.0.1:1/shop/orders:1.0.0`;
    expect(builds).toEqual([
      `${build} --output type=oci,dest=${folder}/release/1.0.0/order-sync-1.0.0.oci.tar .`,
      `${build} --push .`,
    ]);
  });

  it('ends without a tag where a test fails, and leaves the repository as it was', () => {
    const file = readFileSync(join(folder, 'package.json'), 'utf8');
    write('package.json', file.replace('"test": "true"', '"test": "false"'));
    commit();
    const before = git('rev-parse', 'HEAD');
    const { status, stderr } = release(['1.0.0', '--without-image']);
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: expect.stringContaining('Not released: '),
    });
    expect([git('rev-parse', 'HEAD'), git('tag'), git('status', '--porcelain')]).toEqual([
      before,
      '',
      '',
    ]);
  });

  it('tags a commit with the version, makes the files, and publishes nothing without a registry', () => {
    const { status, stdout } = release(['1.0.0', '--without-image']);
    expect(status).toBe(0);
    expect(stdout).toMatch(/NOT BUILT[^]*was NOT published[^]*was NOT pushed/);
    expect(readdirSync(join(folder, 'release/1.0.0'))).toEqual([
      'SHA256SUMS',
      'order-sync-1.0.0.cdx.json',
      'order-sync-1.0.0.tgz',
    ]);
    expect(git('rev-parse', 'v1.0.0^{commit}')).toBe(git('rev-parse', 'main'));
    expect(git('show', 'v1.0.0:package.json')).toContain('"version": "1.0.0"');
    expect(git('show', 'v1.0.0:CHANGELOG.md')).toMatch(
      /## \[1\.0\.0\] - \d{4}-\d\d-\d\d\n\n- Buys\./,
    );
    expect(git('status', '--porcelain')).toBe('');
  });

  it('is only rehearsed with --dry-run: nothing is changed but the folder of the files', () => {
    const before = git('rev-parse', 'HEAD');
    const { status, stdout } = release([
      '1.0.0',
      '--without-image',
      '--dry-run',
      '--tests',
      'false || true',
    ]);
    expect({ status, stdout }).toEqual({
      status: 0,
      stdout: expect.stringContaining('\n== Rehearsed\n'),
    });
    expect([git('rev-parse', 'HEAD'), git('tag')]).toEqual([before, '']);
  });
});
