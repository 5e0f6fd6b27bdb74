import { type ChildProcess, spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { runCommandLine } from '../../src/cli/commands/program.ts';
import { SystemClock } from '../../src/ops/system-clock.ts';
import {
  documentedCommands,
  examplesIn,
  projectRoot,
  type ShellCommand,
} from './shell-commands.ts';

/*
 * Runs every command of the documentation, as it is written, in a copy of the project in which `npm
 * start` is running. Commands of order-sync run in this process, one after the other. Of a command
 * that would install or test, only its script is checked. A command without a rule below fails the
 * test.
 */

const { scripts } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8'));

/** A project folder with its own data and config. Code and packages are links to this project. */
function copyOfProject(): string {
  const folder = mkdtempSync(join(tmpdir(), 'order-sync-docs-'));
  for (const name of [
    'bin',
    'src',
    'sandbox',
    'node_modules',
    'package.json',
    'package-lock.json',
  ]) {
    symlinkSync(join(projectRoot, name), join(folder, name));
  }
  cpSync(join(projectRoot, 'config'), join(folder, 'config'), { recursive: true });
  mkdirSync(join(folder, 'data'));
  cpSync(join(projectRoot, 'data/samples'), join(folder, 'data/samples'), { recursive: true });
  return folder;
}

/** Free ports, because other tests run on this machine. */
const freePorts = {
  ORDER_SYNC__ADMIN__LISTEN: '127.0.0.1:0',
  ORDER_SYNC__INTAKE__WEBHOOK__LISTEN: '127.0.0.1:0',
  ORDER_SYNC__SANDBOX__LISTEN: '127.0.0.1:0',
};

const environment = {
  ...process.env,
  ...freePorts,
  PATH: `${join(projectRoot, 'node_modules/.bin')}:${process.env['PATH'] ?? ''}`,
  npm_config_update_notifier: 'false',
};

interface Ran {
  readonly code: number | null;
  readonly output: string;
}

function run(command: string, cwd: string): Promise<Ran> {
  return new Promise((done, fail) => {
    const child = spawn('bash', ['-c', command], {
      cwd,
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let written = '';
    child.stdout.on('data', (text: Buffer) => void (written += text.toString()));
    child.stderr.on('data', (text: Buffer) => void (written += text.toString()));
    child.on('error', fail);
    child.on('close', (code) => done({ code, output: written }));
  });
}

/**
 * Runs a command of order-sync in this process, as it would run in that folder with these
 * variables.
 */
async function runHere(
  command: string,
  cwd: string,
  variables: Readonly<Record<string, string>>,
): Promise<Ran> {
  const words = command.replace(/ #.*/, '').match(/"[^"]*"|'[^']*'|[^\s"']+/g) ?? [];
  const argv = words
    .map((word) => word.replace(/^(["'])(.*)\1$/, '$2'))
    .slice(words[0] === 'npx' ? 2 : 1);
  const before = process.cwd();
  let written = '';
  const stream = { write: (text: string) => void (written += text) };
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  process.chdir(cwd);
  try {
    const code = await runCommandLine(argv, {
      stdout: stream,
      stderr: stream,
      clock: new SystemClock(),
    });
    return { code, output: written };
  } finally {
    process.chdir(before);
    vi.unstubAllEnvs();
  }
}

let folder: string;
let demo: ChildProcess;
/** The output of the demo so far. */
let output = '';

beforeAll(async () => {
  folder = copyOfProject();
  // Runs the script of `npm start` without npm, which would not pass on our signal.
  demo = spawn('bash', ['-c', `exec ${scripts.start}`], {
    cwd: folder,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  await new Promise<void>((done, fail) => {
    const read = (text: Buffer) => {
      output += text.toString();
      if (output.includes('Every order is done')) done();
    };
    demo.stdout?.on('data', read);
    demo.stderr?.on('data', read);
    demo.on('close', () => fail(new Error(`npm start ended:\n${output}`)));
  });
});

afterAll(() => {
  demo.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

/** How each command is checked. The first rule that matches applies. */
const rules: readonly {
  matches: RegExp;
  check: (command: ShellCommand) => Promise<void> | void;
}[] = [
  // Not run: this test needs the installation, is run by the tests, and has started the demo
  // itself.
  {
    matches: /^npm ci$/,
    check: () => expect(existsSync(join(projectRoot, 'package-lock.json'))).toBe(true),
  },
  {
    matches: /^npm ci && npm start$/,
    check: () => expect(scripts.start).toBe('node bin/order-sync.js demo'),
  },
  {
    matches: /^(npm ci && )?npm test$/,
    check: () => expect(scripts.test).toMatch(/^vitest run\b/),
  },
  {
    matches: /^npm run \w+$/,
    check: ({ text }) => expect(scripts).toHaveProperty(text.replace('npm run ', '')),
  },
  // restore.test.ts performs them, one after the other.
  {
    matches: /^order-sync db (backup|restore \S+)$/,
    check: ({ text }) => succeeds(`${text} --help`),
  },
  // Production commands run in a new production installation. Of `run` and `doctor`, which need the
  // API, only the help.
  { matches: /^order-sync (run|doctor)$/, check: ({ text }) => succeeds(`${text} --help`) },
  // test/cli starts the sandbox. Here, only the options are checked.
  { matches: /^order-sync sandbox (logs|clock|trigger)\b/, check: ({ text }) => succeeds(text) },
  {
    matches: /^order-sync sandbox/,
    check: ({ text }) => succeeds(`${text.replace(/ +#.*/, '')} --help`),
  },
  // test/cli/orders-remap.test.ts performs it. Here, only the options are checked.
  { matches: /^order-sync orders reorder /, check: ({ text }) => succeeds(`${text} --help`) },
  {
    matches: /^order-sync orders (hold|release) --/,
    check: ({ text }) => succeeds(`${text} --config config/sandbox.yaml`),
  },
  { matches: /^curl -s '?http:/, check: ({ text }) => asksDemo(text) },
  {
    matches: /^order-sync (check-config|init( --after-loss)?)$/,
    check: ({ text }) => inProduction(text),
  },
  // test/cli/seal.test.ts performs it. Here, only the options are checked.
  { matches: /^order-sync orders show /, check: ({ text }) => succeeds(`${text} --help`) },
  {
    matches: /^(openssl|chmod) .*\/run\/secrets/,
    check: ({ text }) => succeeds(text.replace('/run/secrets/', 'data/')),
  },
  {
    matches: /^order-sync (db (check|backup)|balance set .*)$/,
    check: ({ text }) => succeeds(`${text} --config config/sandbox.yaml`),
  },
  { matches: /^(npx order-sync|cp|sqlite3|openssl|mkdir) /, check: ({ text }) => succeeds(text) },
];

async function succeeds(command: string): Promise<void> {
  if (/^(npx )?order-sync /.test(command))
    return expectSuccess(command, await runHere(command, folder, freePorts));
  const found = await run(`command -v ${command.split(' ')[0] ?? ''}`, folder);
  // A machine may lack these two programs. The pages say that the command needs them.
  if (found.code !== 0 && /^(sqlite3|curl) /.test(command)) return;
  expectSuccess(command, await run(command, folder));
}

function expectSuccess(command: string, { code, output: written }: Ran): void {
  expect({ command, code, errors: code === 0 ? '' : written }).toEqual({
    command,
    code: 0,
    errors: '',
  });
}

/** Asks the running demo, which listens on other ports than on the pages. An error status fails. */
async function asksDemo(command: string): Promise<void> {
  const [, sandbox = ''] = /sandbox +(http:\S+)/.exec(output) ?? [];
  const [, orders = ''] = /orders +(http:\S+)\/docs/.exec(output) ?? [];
  const asked = command
    .replace('http://127.0.0.1:8090', sandbox)
    .replace('http://127.0.0.1:8080', orders);
  await succeeds(asked.replace('curl -s ', 'curl -sf '));
}

/** In a new production installation, which has no sandbox. */
async function inProduction(command: string): Promise<void> {
  const place = copyOfProject();
  try {
    const example = readFileSync(join(place, 'config/order-sync.example.yaml'), 'utf8');
    writeFileSync(
      join(place, 'config/order-sync.yaml'),
      example.replace('wholesale.example.com', '127.0.0.1:9'),
    );
    writeFileSync(join(place, 'data/key'), 'sk-test');
    const key = { ORDER_SYNC__WHOLESALE__KEYS__0__VALUE: 'file:data/key' };
    expectSuccess(
      command,
      await runHere(command, place, { ORDER_SYNC__ADMIN__LISTEN: '127.0.0.1:0', ...key }),
    );
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

const commands = documentedCommands();

describe('the documentation', () => {
  it('shows in the README how to start the demo and how to run the tests', () => {
    const shown = commands.filter(({ page }) => page === 'README.md').map(({ text }) => text);
    expect(shown).toContain('npm ci && npm start');
    expect(shown).toContain('npm ci && npm test');
  });

  it.each(commands)('shows a command in $page that works: $text', async (command) => {
    const rule = rules.find(({ matches }) => matches.test(command.text));
    expect(rule, 'this command has no rule').toBeDefined();
    await rule?.check(command);
  });

  it('shows a result with the same keys as a real result', () => {
    const written = JSON.parse(
      readFileSync(join(folder, 'data/demo/results/demo-shop/1006.json'), 'utf8'),
    );
    const shown = examplesIn('docs/results.md', 'json')
      .map((text) => JSON.parse(text))
      .find((example) => 'updated_at' in example);
    expect(Object.keys(shown)).toEqual(Object.keys(written));
    expect(Object.keys(shown.lines[0])).toEqual(Object.keys(written.lines[0]));
    expect(Object.keys(shown.lines[0].entries[0])).toEqual(
      Object.keys(written.lines[0].entries[0]),
    );
  });

  it('is right that the demo exits with 0 after SIGTERM', async () => {
    const ended = new Promise((done) => demo.on('exit', done));
    demo.kill('SIGTERM');
    expect(await ended).toBe(0);
  });
});
