/**
 * Makes a release. docs/releasing.md says when and how:
 *
 *   node scripts/release.ts 0.1.0 --dry-run
 *
 * Everything is made in a new clone of the commit. Nothing that is not committed gets into a
 * package, and where a step fails, this repository stays as it was.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { changesOf, datedChangelog, writeVersion } from './version-places.ts';

const root = resolve(import.meta.dirname, '..');
const usage = `Usage: node scripts/release.ts VERSION [options]
  --dry-run          rehearse: no tag, no version and nothing published
  --without-image    make no image, for a machine without docker buildx
  --tests COMMAND    with --dry-run only: test less than the release does
  --out FOLDER       where the files are written; default: release/VERSION
Environment:
  NPM_REGISTRY       the registry of the package; without it, the package is not published
  IMAGE_REGISTRY     the registry of the image; without it, the image is not pushed
  IMAGE              the name of the image; default: order-sync`;

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    'dry-run': { type: 'boolean', default: false },
    'without-image': { type: 'boolean', default: false },
    tests: { type: 'string' },
    out: { type: 'string' },
  },
});
const [version = ''] = positionals;
const isRehearsal = options['dry-run'];
const tag = `v${version}`;
const out = resolve(options.out ?? join(root, 'release', version));
/** What a release has to pass. The last one installs the packed file into an empty folder. */
const tests = options.tests ?? 'npm run check && npm test && npm run test:package';
const {
  NPM_REGISTRY: npmRegistry,
  IMAGE_REGISTRY: imageRegistry,
  IMAGE = 'order-sync',
} = process.env;
const image = `${imageRegistry === undefined ? '' : `${imageRegistry}/`}${IMAGE}:${version}`;

const say = (text: string): void => console.log(`\n== ${text}`);
const git = (folder: string, ...args: string[]): string =>
  execFileSync('git', args, { cwd: folder, encoding: 'utf8' }).trim();
const answers = (command: string, ...args: string[]): boolean =>
  spawnSync(command, args, { stdio: 'ignore' }).status === 0;
const makesImage = !options['without-image'];
const hasBuildx = (): boolean =>
  answers('docker', 'buildx', 'version') && answers('docker', 'info');

/** Why there is no release; empty where there is one. */
function refusals(): string[] {
  if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)) return [usage];
  const changes = git(root, 'status', '--porcelain');
  const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8');
  const [own, unreleased] = [version, 'Unreleased'].map((name) => changesOf(changelog, name));
  return [
    changes !== '' && `the tree has changes that are not committed:\n${changes}`,
    git(root, 'branch', '--show-current') === '' && 'no branch is checked out',
    git(root, 'tag', '--list', tag) !== '' && `the tag ${tag} is there already`,
    !own && !unreleased && `CHANGELOG.md says nothing about ${version}`,
    own && unreleased && `CHANGELOG.md has [${version}], and more under [Unreleased]: join them`,
    options.tests !== undefined &&
      !isRehearsal &&
      'an untested tree is not released: --tests is for --dry-run',
    makesImage &&
      !hasBuildx() &&
      'docker buildx does not answer here: there would be no image; --without-image goes on',
  ].filter((text): text is string => typeof text === 'string' && text !== '');
}

/** Runs a command of the shell in a folder, with the Node that its lock file names. */
function run(folder: string, command: string): void {
  console.log(`$ ${command}`);
  const bin = join(folder, 'node_modules/.bin');
  const path = existsSync(bin) ? `${bin}${delimiter}${process.env['PATH']}` : process.env['PATH'];
  const { status } = spawnSync('bash', ['-c', command], {
    cwd: folder,
    env: { ...process.env, PATH: path },
    stdio: 'inherit',
  });
  if (status !== 0) throw new Error(`\`${command}\` ended with ${status}`);
}

/** Writes the version everywhere and commits it. A commit that has it already is released as it is. */
function setVersion(clone: string): void {
  writeVersion(clone, version);
  const path = join(clone, 'CHANGELOG.md');
  const date = new Date().toISOString().slice(0, 10);
  writeFileSync(path, datedChangelog(readFileSync(path, 'utf8'), version, date));
  if (globSync(`test/store/tagged-databases/${version}-*.sql`, { cwd: clone }).length === 0)
    run(clone, `node test/store/tagged-databases/make-dump.ts ${version}`);
  if (git(clone, 'status', '--porcelain') === '') return;
  git(clone, 'add', '--all');
  git(clone, 'commit', '--quiet', '--message', `release: ${version}`);
}

function buildPackage(clone: string): void {
  const sbom = `${out}/order-sync-${version}.cdx.json`;
  run(clone, `npm run --silent package -- '${out}'`);
  run(clone, `npm run --silent sbom >'${sbom}'`);
}

/** The list of what is in the image is an attestation in its own archive, and in the registry. */
function buildImage(clone: string, output: string): void {
  const label = 'org.opencontainers.image';
  const labels = `--label ${label}.version=${version} --label ${label}.revision=${git(clone, 'rev-parse', 'HEAD')}`;
  run(
    clone,
    `docker buildx build --sbom=true --provenance=true ${labels} --tag '${image}' ${output} .`,
  );
}

function writeSums(): void {
  const sums = readdirSync(out).map((name) => {
    const hash = createHash('sha256').update(readFileSync(join(out, name)));
    return `${hash.digest('hex')}  ${name}\n`;
  });
  writeFileSync(join(out, 'SHA256SUMS'), sums.join(''));
}

/** Brings commit and tag here, then publishes where a registry is named. */
function publish(clone: string): void {
  git(root, 'fetch', '--quiet', clone, 'HEAD');
  git(root, 'merge', '--quiet', '--ff-only', 'FETCH_HEAD');
  git(root, 'fetch', '--quiet', clone, `refs/tags/${tag}:refs/tags/${tag}`);
  if (npmRegistry !== undefined)
    run(
      clone,
      `npm publish '${out}/order-sync-${version}.tgz' --registry '${npmRegistry}' --tag ${version.includes('-') ? 'next' : 'latest'}`,
    );
  if (imageRegistry !== undefined && makesImage) buildImage(clone, '--push');
}

function release(clone: string): void {
  say(`Clone of ${git(root, 'rev-parse', '--short', 'HEAD')}`);
  git(root, 'clone', '--quiet', '--local', '--no-tags', root, clone);
  for (const name of ['user.name', 'user.email'])
    if (git(root, 'config', '--default', '', name) !== '')
      git(clone, 'config', name, git(root, 'config', name));
  run(clone, 'npm ci --no-audit --no-fund');
  say(`Version ${version}`);
  setVersion(clone);
  say('Tests');
  run(clone, tests);
  say('Package, with the list of what is in it');
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  buildPackage(clone);
  say('Image, with the list of what is in it');
  if (makesImage)
    buildImage(clone, `--output 'type=oci,dest=${out}/order-sync-${version}.oci.tar'`);
  else console.log('NOT BUILT, as --without-image says.');
  writeSums();
  say(`Tag ${tag}`);
  git(clone, 'tag', '--annotate', tag, '--message', `order-sync ${version}`);
  if (isRehearsal) console.log('Only in the clone: this is a rehearsal.');
  else publish(clone);
}

const problems = refusals();
if (problems.length > 0) {
  for (const problem of problems) console.error(`Refused: ${problem}`);
  process.exit(2);
}
const folder = mkdtempSync(join(tmpdir(), 'order-sync-release-'));
try {
  // npm names the project in the list after its folder.
  release(join(folder, 'order-sync'));
} catch (error) {
  console.error(`\nNot released: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
if (process.exitCode === undefined) {
  say(isRehearsal ? 'Rehearsed' : 'Released');
  console.log(`The files are in ${out}: ${readdirSync(out).join(', ')}`);
  if (npmRegistry === undefined || isRehearsal) console.log('The package was NOT published.');
  if (imageRegistry === undefined || isRehearsal || !makesImage)
    console.log('The image was NOT pushed.');
  if (!isRehearsal) console.log(`Next: git push --atomic origin HEAD ${tag}`);
}
