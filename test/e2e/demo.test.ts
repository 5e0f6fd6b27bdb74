import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { listen } from '../../src/ops/listen.ts';
import { projectRoot } from '../support/worker-process.ts';

/** The demo at a terminal, in a new folder. */
async function demoAtTerminal(settings: readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'order-sync-demo-'));
  const set = ['sandbox.listen=127.0.0.1:0', 'intake.webhook.listen=127.0.0.1:0', ...settings];
  copyFileSync(join(projectRoot, 'config/sandbox.yaml'), join(folder, 'own.yaml'));
  const program = [process.execPath, join(projectRoot, 'bin/order-sync.js')];
  const command = [...program, 'demo', '--config', 'own.yaml'];
  // A shell that waited would end by the Ctrl-C, too, and its code would stand for the demo's.
  const line = ['exec', ...command, ...set.flatMap((value) => ['--set', value])].join(' ');
  const child = spawn('script', ['-qec', line, '/dev/null'], {
    cwd: folder,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  let text = '';
  let onText = (): void => undefined;
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    text += part;
    onText();
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    folder,
    /** What a command of the program prints in this folder. */
    run: (hint: string) =>
      execFileSync(process.execPath, [...program.slice(1), ...hint.split(' ')], {
        cwd: folder,
        encoding: 'utf8',
      }),
    type: (keys: string) => child.stdin.write(keys),
    ended,
    /** Waits until this is on the terminal. */
    shown: async (pattern: RegExp): Promise<RegExpExecArray> => {
      for (;;) {
        const found = pattern.exec(text);
        if (found !== null) return found;
        await new Promise<void>((resolve) => (onText = resolve));
      }
    },
  };
}

it.runIf(process.platform === 'linux')(
  'the demo says which port another program has, lets an operator sign in, buys its samples, and ends by Ctrl-C',
  async () => {
    const other = createServer();
    const taken = await listen(other, { host: '127.0.0.1', port: 0 }, '');
    onTestFinished(() => void other.close());
    const demo = await demoAtTerminal([`admin.listen=${taken}`]);
    const [, pages = ''] = await demo.shown(
      /pages +(http:\S+)\/ +\(another program has port \d+\)/,
    );
    const [, token = ''] = await demo.shown(/sign in with (\S+)/);
    const form = new URLSearchParams({ token, return_to: '/' });
    const signedIn = await fetch(`${pages}/sign-in`, {
      method: 'POST',
      body: form,
      redirect: 'manual',
    });
    expect(signedIn.status).toBe(303);
    await demo.shown(/Every order is done:/);
    const [, hint = ''] = await demo.shown(/npx order-sync (orders list --attention .+)\r\n/);
    expect(hint).toContain('--config own.yaml --set sandbox.listen=127.0.0.1:0 ');
    expect(demo.run(hint)).toContain('5-broken.json');
    await demo.shown(/\d\d:\d\d:\d\d 1001\/1 gift card steam-usd-20 bought GC-\d+ 37.80 USD\r\n/);

    const result = join(demo.folder, 'data/demo/results/demo-shop/1001.json');
    expect(JSON.parse(readFileSync(result, 'utf8')).state).toBe('completed');

    // Ctrl-C.
    demo.type('\u0003');
    expect(await demo.ended).toEqual([0, null]);
  },
  60_000,
);
