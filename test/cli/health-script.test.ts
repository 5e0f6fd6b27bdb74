import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createSocketServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { projectRoot, type Finished } from './installation.ts';

/** A data folder with a run file, and the server that it names. */
async function folderOf(answer: RequestListener, host?: string): Promise<string> {
  const server = createServer(answer);
  onTestFinished(() => server.closeAllConnections());
  return await folderOfServer(server, host);
}

async function folderOfServer(server: Server, host = '127.0.0.1'): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'order-sync-health-'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    rmSync(folder, { recursive: true });
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  writeFileSync(
    join(folder, 'run.json'),
    JSON.stringify({ pid: 1, admin_address: `${host}:${port}` }),
  );
  return folder;
}

async function run(arguments_: readonly string[], dataDir = ''): Promise<Finished> {
  const environment = { ...process.env, ORDER_SYNC__DATA_DIR: dataDir };
  const script = join(projectRoot, 'bin/health.js');
  try {
    const done = await promisify(execFile)(process.execPath, [script, ...arguments_], {
      env: environment,
    });
    return { code: 0, ...done };
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && 'stderr' in error)) throw error;
    return { code: Number(error.code), stdout: '', stderr: String(error.stderr) };
  }
}

it('asks the worker that the run file names, and ends with 0 when it lives', async () => {
  const asked: string[] = [];
  const folder = await folderOf((request, response) => {
    asked.push(request.url ?? '');
    response.end('{"status":"pass"}');
  });
  expect(await run([], folder)).toEqual({ code: 0, stdout: '', stderr: '' });
  expect(await run(['--ready', folder])).toMatchObject({ code: 0 });
  expect(asked).toEqual(['/livez', '/readyz']);
});

it('asks a worker that listens on every address on this machine', async () => {
  const folder = await folderOf((_request, response) => response.end(), '0.0.0.0');
  expect(await run(['--live', folder])).toMatchObject({ code: 0 });
});

it('ends with 1 and says why when the worker is not ready, or does not answer', async () => {
  const unready = await folderOf((_request, response) => response.writeHead(503).end());
  expect(await run(['--ready', unready])).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^The worker at 127\.0\.0\.1:\d+ answers \/readyz with 503\n$/),
  });
  const silent = await folderOf(() => undefined);
  expect(await run(['--live', silent])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('nothing within 2500 ms'),
  });
});

it('ends with 1 when another program has taken the port', async () => {
  const closing = await folderOfServer(createSocketServer((socket) => socket.end()));
  expect(await run([], closing)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('the connection was closed'),
  });
  const other = await folderOfServer(
    createSocketServer((socket) => socket.end(`220 mail ${'x'.repeat(100)}`)),
  );
  expect(await run([], other)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('this is no HTTP answer'),
  });
});

it('ends with 1 where no worker has started, and for an argument that it does not know', async () => {
  const missing = join(tmpdir(), 'order-sync-no-such-folder');
  expect(await run(['--live', missing])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`No worker has started with the data folder ${missing}`),
  });
  for (const wrong of [['--alive', missing], []])
    expect(await run(wrong)).toMatchObject({ code: 1, stderr: expect.stringMatching(/^Usage: /) });
});
