import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { parse } from 'yaml';
import { describe, expect, it, onTestFinished } from 'vitest';
import { installation, projectRoot, runProgram, sandboxConfig, type Installation } from './installation.ts';

/** Starts the sandbox in a process of its own, and waits until it says where it listens. */
async function serve(place: Installation) {
  const argv = [join(projectRoot, 'bin/order-sync.js'), 'sandbox', '--config', place.configFile];
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

describe('order-sync sandbox', () => {
  it('serves the API alone, and ends in good order on SIGTERM and on SIGINT', async () => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const { url, child, ended } = await serve(installation());
      const answer = await fetch(`${url}/products`, { headers: { authorization: 'Bearer sandbox-key-main' } });
      expect(answer.status).toBe(200);
      child.kill(signal);
      expect(await ended).toBe(0);
    }
  });

  it('says what to do when its port is taken, and ends with 5', async () => {
    const { url } = await serve(installation());
    const other = installation();
    const listen = url.replace('http://', '');
    const { code, stderr } = await runProgram(['sandbox', '--config', other.configFile, '--listen', listen]);
    expect(code).toBe(5);
    expect(stderr).toContain(`Cannot listen on ${listen}: another program listens there`);
  });

  it('tells mistakes in its section by their places', async () => {
    const wrong = installation((folder) =>
      sandboxConfig(folder).replace(/sandbox: .*/, 'sandbox: { seed: x, limits: { orders: 0 } }'),
    );
    const { code, stderr } = await wrong.run('check-config');
    expect(code).toBe(3);
    expect(stderr).toContain('sandbox.seed: ');
    expect(stderr).toContain('sandbox.limits.orders: ');
  });
});

describe('order-sync wire', () => {
  it('prints the mapping in use as it can stand in a config, and takes it back', async () => {
    const first = await installation().run('wire');
    expect(first.code).toBe(0);
    const { wholesale } = parse(first.stdout);
    const copied = installation((folder) =>
      sandboxConfig(folder).replace('wholesale:', `wholesale:\n  wire: ${JSON.stringify(wholesale.wire)}`),
    );
    expect(await copied.run('wire')).toEqual(first);
    const json = await copied.run('wire', '--json');
    expect(JSON.parse(json.stdout)).toEqual(wholesale.wire);
  });

  it('ends with 3 for a mapping that is none', async () => {
    expect((await installation().run('wire', '--set', 'wholesale.wire.nonsense=1')).code).toBe(3);
  });
});
