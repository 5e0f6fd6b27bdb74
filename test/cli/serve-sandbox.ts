import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { projectRoot, type Installation } from './installation.ts';

/** Starts the sandbox in a process of its own, and waits until it says where it listens. */
export async function serveSandbox(place: Installation, ...more: string[]) {
  const argv = [
    join(projectRoot, 'bin/order-sync.js'),
    'sandbox',
    '--config',
    place.configFile,
    ...more,
  ];
  const child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = new Promise<number | null>((done) => child.on('exit', done));
  let output = '';
  const url = await new Promise<string>((done, fail) => {
    child.stdout.on('data', (bytes: Buffer) => {
      output += bytes.toString();
      const line = output.split('\n').find((text) => text.includes('sandbox listening'));
      if (line !== undefined) done(JSON.parse(line).url);
    });
    child.on('exit', () => fail(new Error(`the sandbox has ended: ${output}`)));
  });
  return { url, child, ended };
}
