import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { listen } from '../../src/ops/listen.ts';
import { afterCutOptions } from '../../src/ops/requests-after-cut.ts';

/** Sends all at once to a new server; resolves to its address when it has closed the connection. */
async function send(server: Server, text: string): Promise<string> {
  const address = await listen(server, { host: '127.0.0.1', port: 0 }, '');
  onTestFinished(() => void server.close());
  const socket = connect(Number(address.split(':').at(-1)), '127.0.0.1').resume();
  socket.on('error', () => undefined);
  const closed = once(socket, 'close');
  socket.write(text);
  await closed;
  return address;
}

it.each([
  ['without a body', 'GET / HTTP/1.1\r\nhost: x\r\n\r\n'],
  ['with a body', 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nabcde'],
])('requests %s are not read any more after the one that ended their connection', async (_name, request) => {
  let requests = 0;
  const server = createServer(afterCutOptions, (incoming) => {
    requests += 1;
    if (requests === 2) incoming.socket.destroy();
  });
  await send(server, request.repeat(1000));
  expect(requests).toBe(2);
});

it('requests of the next connections are answered', async () => {
  const server = createServer(afterCutOptions, (incoming, outgoing) => {
    if (incoming.url === '/cut') incoming.socket.destroy();
    else outgoing.end(`answer to ${incoming.method} ${incoming.url}`);
  });
  const address = await send(server, 'GET /cut HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(10));
  expect(await (await fetch(`http://${address}/next`)).text()).toBe('answer to GET /next');
});
