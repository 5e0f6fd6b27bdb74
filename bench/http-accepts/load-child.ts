import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import * as z from 'zod';

/**
 * Posts orders over persistent connections, each as soon as the previous one is answered, in a
 * process of its own. The program costs little CPU itself, and every target gets the same requests.
 */
const task = z.object({
  port: z.number(),
  connections: z.number(),
  warmUpMs: z.number(),
  measuredMs: z.number(),
  token: z.string(),
  prefix: z.string(),
});

const [first] = await once(process, 'message');
const { port, connections, warmUpMs, measuredMs, token, prefix } = task.parse(first);

const head = `POST /v1/orders HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: `;
const tail =
  '","currency":"USD","lines":[{"line_id":"1","type":"gift_card_order","variant":"steam-usd-5","quantity":1}]}';
let made = 0;

function nextRequest(): string {
  made += 1;
  const body = `{"order_id":"${prefix}-${String(made).padStart(7, '0')}${tail}`;
  return `${head}${body.length}\r\n\r\n${body}`;
}

/** 2xx answers during the measurement, and all other answers. */
let accepted = 0;
let others = 0;
let measuring = false;
let stopped = false;

/** The length of the first complete answer in `text`, or 0. */
function answerLength(text: string): number {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return 0;
  const length = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, end))?.[1];
  if (length === undefined) throw new Error(`an answer without a length: ${text.slice(0, end)}`);
  const whole = end + 4 + Number(length);
  return text.length >= whole ? whole : 0;
}

function drive(socket: Socket): void {
  let text = '';
  socket.on('data', (bytes: Buffer) => {
    text = text === '' ? bytes.toString('latin1') : text + bytes.toString('latin1');
    const length = answerLength(text);
    if (length === 0) return;
    const isAccepted = text.startsWith('HTTP/1.1 2');
    text = text.slice(length);
    if (!isAccepted) others += 1;
    else if (measuring) accepted += 1;
    if (stopped) socket.end();
    else socket.write(nextRequest());
  });
  socket.write(nextRequest());
}

const sockets = await Promise.all(
  Array.from({ length: connections }, async () => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    await once(socket, 'connect');
    return socket;
  }),
);
const closed = Promise.all(sockets.map((socket) => once(socket, 'close')));
for (const socket of sockets) drive(socket);
await new Promise((resolve) => setTimeout(resolve, warmUpMs));
measuring = true;
const startedAt = performance.now();
await new Promise((resolve) => setTimeout(resolve, measuredMs));
measuring = false;
const perSecond = (accepted / (performance.now() - startedAt)) * 1000;
stopped = true;
await closed;
process.send?.({ perSecond, others, made });
process.disconnect();
