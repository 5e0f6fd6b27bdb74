import { cpSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  changesOf,
  datedChangelog,
  writeVersion,
  writtenVersions,
} from '../../scripts/version-places.ts';
import { documentRoutes } from '../../src/intake/http/document-routes.ts';
import { programVersion } from '../../src/ops/program-version.ts';
import { projectRoot } from '../support/worker-process.ts';

const textOf = (file: string): string => readFileSync(join(projectRoot, file), 'utf8');

describe('the version of the program', () => {
  it('is the same wherever it is written', () => {
    const written = writtenVersions(projectRoot);
    expect(new Set(written.map(({ file }) => file))).toEqual(
      new Set([
        'package.json',
        'package-lock.json',
        'docs/deploy.md',
        ...globSync('deploy/kubernetes/{init,sidecar,statefulset}.yaml', { cwd: projectRoot }),
      ]),
    );
    expect(written.filter(({ version }) => version !== programVersion)).toEqual([]);
  });

  it('is not written in a place that a release does not know', () => {
    const files = globSync('{README.md,Dockerfile,docs/**/*.md,deploy/**/*.{yaml,yml,service}}', {
      cwd: projectRoot,
    });
    const named = files.flatMap((file) =>
      [...textOf(file).matchAll(/\border-sync[-:@ v]+\d+\.\d+\.\d+/g)].map(() => file),
    );
    const known = writtenVersions(projectRoot).filter(({ file }) => /\.md|\.yaml/.test(file));
    expect(named.toSorted()).toEqual(known.map(({ file }) => file).toSorted());
  });

  it('has its changes in CHANGELOG.md, and a database that later versions must open', () => {
    expect(changesOf(textOf('CHANGELOG.md'), programVersion)).toMatch(/^- /m);
    const dumps = readdirSync(join(projectRoot, 'test/store/tagged-databases'));
    expect(dumps.filter((name) => name.startsWith(`${programVersion}-schema-`))).toHaveLength(1);
  });

  it('is in the OpenAPI document', async () => {
    const answer = await documentRoutes(programVersion).request('/openapi.json');
    expect(await answer.json()).toMatchObject({ info: { version: programVersion } });
  });

  it('is changed everywhere by one call', () => {
    const folder = mkdtempSync(join(tmpdir(), 'order-sync-version-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    for (const name of ['package.json', 'package-lock.json', 'docs', 'deploy'])
      cpSync(join(projectRoot, name), join(folder, name), { recursive: true });
    writeVersion(folder, '9.8.7-rc.1');
    const written = writtenVersions(folder).map(({ version }) => version);
    expect(written).toEqual(writtenVersions(projectRoot).map(() => '9.8.7-rc.1'));
    expect(readFileSync(join(folder, 'package.json'), 'utf8')).toBe(
      textOf('package.json').replace(programVersion, '9.8.7-rc.1'),
    );
  });
});

describe('the changelog of a release', () => {
  const head = '# Changelog\n\n## [Unreleased]\n\n';

  it('gets a section of what was unreleased, with the date', () => {
    const changed = datedChangelog(
      `${head}- New.\n\n## [1.0.0] - 2026-01-02\n`,
      '1.1.0',
      '2026-02-03',
    );
    expect(changed).toBe(`${head}## [1.1.0] - 2026-02-03\n\n- New.\n\n## [1.0.0] - 2026-01-02\n`);
  });

  it('keeps a section that was written for it, and dates it once', () => {
    const dated = `${head}## [1.1.0] - 2026-02-03\n\n- New.\n`;
    expect(datedChangelog(`${head}## [1.1.0]\n\n- New.\n`, '1.1.0', '2026-02-03')).toBe(dated);
  });
});
