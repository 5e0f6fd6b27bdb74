import { spawn } from 'node:child_process';
import { describe, expect, it, onTestFinished } from 'vitest';

const script = `
  import { listenForStop } from ${JSON.stringify(new URL('../../src/ops/signals.ts', import.meta.url).href)};
  const stop = listenForStop();
  const alive = setInterval(() => {}, 1000);
  stop.signal.addEventListener('abort', () => process.stdout.write('asked by ' + stop.signal.reason));
  process.stdout.write('ready ');
`;

/**
 * Runs a process that does not end by itself. Sends it each signal when its output contains the
 * text before it.
 */
function signalled(steps: readonly { after: string; send: NodeJS.Signals }[]) {
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const open = [...steps];
  let output = '';
  child.stdout.on('data', (text: Buffer) => {
    output += text.toString();
    while (open[0] !== undefined && output.includes(open[0].after)) child.kill(open.shift()?.send);
  });
  return new Promise((done) => child.on('exit', (code, signal) => done({ code, signal, output })));
}

describe('the stop signals', () => {
  it('are handled once: the first signal aborts, and a second one ends the process at once', async () => {
    const end = await signalled([
      { after: 'ready', send: 'SIGTERM' },
      { after: 'asked by SIGTERM', send: 'SIGINT' },
    ]);
    expect(end).toEqual({ code: null, signal: 'SIGINT', output: 'ready asked by SIGTERM' });
  });
});
