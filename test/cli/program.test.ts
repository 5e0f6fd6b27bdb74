import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCommandLine } from '../../src/cli/commands/program.ts';
import { exitCodeFor, reportError } from '../../src/cli/errors.ts';
import { plainText } from '../../src/cli/output.ts';
import { renderTable } from '../../src/cli/table.ts';
import { OrderSyncError } from '../../src/core/order-sync-error.ts';
import { shortDuration } from '../../src/core/clock.ts';
import { SystemClock } from '../../src/ops/system-clock.ts';
import { projectRoot, runHere, runProgram } from './installation.ts';

const { version } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8'));

describe('the command line', () => {
  it('prints help on stdout when asked, and on stderr with exit code 2 when a command is missing', async () => {
    for (const asking of [['--help'], ['help'], ['orders', '--help'], ['help', 'orders']]) {
      const { code, stdout, stderr } = await runHere(asking);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toMatch(/^Usage: order-sync/);
    }
    for (const missing of [[], ['orders']]) {
      const { code, stdout, stderr } = await runHere(missing);
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toMatch(/^Usage: order-sync/);
    }
  });

  it('suggests a similar command, and ends with 2', async () => {
    const { code, stderr } = await runHere(['order']);
    expect(code).toBe(2);
    expect(stderr).toBe(
      "error: unknown command 'order'\n(Did you mean orders?)\n(see `order-sync --help`)\n",
    );
  });

  it.each([
    [['orders', 'list', '--stat', 'pending'], /Did you mean --state/],
    [['orders', 'list', '--state', 'lost'], /Allowed choices are pending, sending/],
    [['orders', 'list', '--limit', '0'], /must be a whole number from 1 to 1000/],
    [['orders', 'list', '--limit', '1e2'], /must be a whole number/],
    [['orders', 'show'], /missing required argument 'order'/],
    [['health', '--live', '--ready'], /cannot be used with/],
    [['check-config', '--set', 'log.level'], /must be key=value/],
  ])('refuses the arguments %j with exit code 2', async (argv, message) => {
    const { code, stdout, stderr } = await runHere(argv);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(message);
  });

  it('prints a usage error as JSON, and nothing else, when JSON was asked for', async () => {
    const { code, stderr } = await runHere(['orders', 'list', '--json', '--state', 'lost']);
    expect(code).toBe(2);
    expect(JSON.parse(stderr)).toEqual({
      error: {
        code: 'USAGE',
        message: expect.stringContaining("'lost' is invalid"),
        hint: expect.any(String),
      },
    });
  });

  it('prints its version and that of Node', async () => {
    const stdout = `order-sync ${version} on Node ${process.versions.node}\n`;
    expect(await runProgram(['--version'])).toEqual({ code: 0, stdout, stderr: '' });
  });

  it.each(['--version', '--help', 'help', ''])(
    'loads no command to answer `order-sync %s`',
    (asking) => {
      const printLoaded = `import { registerHooks } from 'node:module';
      registerHooks({ load(url, context, next) { console.log('loaded', url); return next(url, context); } });`;
      const hooks = `data:text/javascript,${encodeURIComponent(printLoaded)}`;
      const args = [
        '--import',
        hooks,
        'src/main.ts',
        ...asking.split(' ').filter((word) => word !== ''),
      ];
      const { stdout, stderr } = spawnSync(process.execPath, args, {
        cwd: projectRoot,
        encoding: 'utf8',
      });
      expect(stdout + stderr).toMatch(/^(?:Usage: order-sync|order-sync \d)/m);
      const loaded = stdout.match(/^loaded .*\/src\/.*/gm) ?? [];
      expect(loaded.filter((url) => url.includes('/cli/commands/'))).toEqual([
        expect.stringMatching(/\/program\.ts$/),
      ]);
    },
  );

  it('keeps the lines of its help within the terminal', async () => {
    let text = '';
    const stdout = { columns: 60, write: (part: string) => void (text += part) };
    await runCommandLine(['--help'], { stdout, stderr: stdout, clock: new SystemClock() });
    expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(60);
  });

  it('keeps running when the reader of its output closes the pipe', async () => {
    const script = `
      import { processContext } from ${JSON.stringify(new URL('../../src/cli/context.ts', import.meta.url).href)};
      const { stdout, stderr } = processContext(() => {});
      process.stdin.once('data', () => {
        stdout.write('to nobody');
        setImmediate(() => stderr.write('still here'));
        process.stdin.pause();
      });
      stderr.write('ready ');
    `;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script]);
    let stderr = '';
    child.stderr.on('data', (text: Buffer) => {
      stderr += text.toString();
      if (stderr !== 'ready ') return;
      child.stdout.destroy();
      child.stdin.end('now');
    });
    const code = await new Promise((done) => child.on('close', done));
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'ready still here' });
  });
});

describe('exit codes', () => {
  it('follow the code of an error, also after a failed clean-up, and are 1 for an unknown error', () => {
    const refused = new OrderSyncError('NOT_ALLOWED', 'x');
    expect(exitCodeFor(refused)).toBe(5);
    expect(exitCodeFor(new AggregateError([refused, new Error('y')]))).toBe(5);
    expect(
      exitCodeFor(Object.assign(new Error('from another copy'), { code: 'UNREACHABLE' })),
    ).toBe(6);
    expect(exitCodeFor(Object.assign(new Error('x'), { code: 'ENOENT' }))).toBe(1);
    expect(exitCodeFor(Object.assign(new Error('x'), { code: 'constructor' }))).toBe(1);
    expect(exitCodeFor('thrown text')).toBe(1);
  });
});

describe('a file that the system keeps from this user', () => {
  it('is named in a sentence, with what to do, and without a stack', () => {
    let text = '';
    const denied = Object.assign(new Error("EACCES: permission denied, mkdir '/srv/data'"), {
      code: 'EACCES',
    });
    reportError(
      Object.assign(denied, { path: '/srv/data' }),
      { write: (part: string) => void (text += part) },
      false,
    );
    expect(text).toBe(
      'order-sync: no permission for /srv/data\nWhat to do: start order-sync in a folder of this user, or set data_dir\n',
    );
  });
});

describe('text for a terminal', () => {
  it('has no characters that control a terminal', () => {
    expect(plainText('a\u001b[2Jb\nc\u202ed\u2028e')).toBe(
      'a\u{fffd}[2Jb\u{fffd}c\u{fffd}d\u{fffd}e',
    );
    expect(renderTable(['A', 'B'], [['1\n2', 'x']])).toBe('A    B\n1\u{fffd}2  x\n');
  });

  it('shows durations in their two largest units', () => {
    expect([0, 999, 1000, 61_000, 3_600_000, 90_000_000].map(shortDuration)).toEqual([
      '0 s',
      '0 s',
      '1 s',
      '1 min 1 s',
      '1 h',
      '1 d 1 h',
    ]);
  });
});
