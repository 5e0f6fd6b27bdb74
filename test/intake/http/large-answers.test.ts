import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { LargeAnswers } from '../../../src/intake/http/large-answers.ts';

/** A server whose answers are written by the test, when their turn has come. */
async function startServer(results: (path: string) => number) {
  const answers = new LargeAnswers();
  const begun: { readonly path: string; readonly answer: ServerResponse }[] = [];
  const server = createServer((request, answer) => {
    const path = request.url ?? '';
    void answers.turn(results(path), answer).then(() => {
      begun.push({ path, answer });
      server.emit('begun');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on a port
  const { port } = server.address() as AddressInfo;
  const ask = async (path: string) => {
    const socket = connect(port, '127.0.0.1');
    const asked = once(server, 'request');
    socket.write(`GET ${path} HTTP/1.1\r\nhost: shop\r\n\r\n`);
    await asked;
    await nextTurn();
    return socket;
  };
  return { server, begun, ask };
}

it('makes two large answers at once, and the next one when a caller has its answer or is gone', async () => {
  const { server, begun, ask } = await startServer((path) => (path === '/small' ? 50 : 51));
  const paths = ['/1', '/2', '/3', '/4', '/small'];
  const sockets = [];
  for (const path of paths) sockets.push(await ask(path));
  expect(begun.map(({ path }) => path)).toEqual(['/1', '/2', '/small']);

  const third = once(server, 'begun');
  begun[0]?.answer.end('done');
  await third;
  expect(begun.at(-1)?.path).toBe('/3');

  const fourth = once(server, 'begun');
  sockets[1]?.destroy();
  await fourth;
  expect(begun.at(-1)?.path).toBe('/4');
});

it('does not wait for a caller that was gone before its turn came', async () => {
  const { server, begun, ask } = await startServer(() => 1000);
  await ask('/1');
  await ask('/2');
  const gone = await ask('/3');
  await ask('/4');
  const closed = once(gone, 'close');
  gone.destroy();
  await closed;
  // The server sees it, too.
  await ask('/5');
  const next = once(server, 'begun');
  begun[0]?.answer.end('done');
  await next;
  if (begun.at(-1)?.path === '/3') await once(server, 'begun');
  expect(begun.at(-1)?.path).toBe('/4');
});
