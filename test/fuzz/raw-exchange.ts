import { Buffer } from 'node:buffer';
import { connect } from 'node:net';

interface RawAnswer {
  readonly status: number;
  readonly body: string;
}

/** In ms. A request that takes longer hangs. */
const patienceMs = 20_000;

/**
 * Sends bytes over a new connection, ends the sending side, and reads until the server closes.
 * Throws when the server does not close.
 */
export async function exchange(port: number, bytes: Buffer): Promise<readonly RawAnswer[]> {
  return await new Promise((resolve, reject) => {
    const parts: string[] = [];
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    socket.setTimeout(patienceMs, () => {
      reject(new Error(`the server still holds the connection after ${patienceMs} ms`));
      socket.destroy();
    });
    socket.on('data', (received: Buffer) => parts.push(received.toString('latin1')));
    // The server may close before it has read everything: its answers until then count.
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(answersIn(parts.join(''))));
    socket.on('connect', () => socket.end(bytes));
    socket.on('end', () => socket.end());
  });
}

function answersIn(text: string): RawAnswer[] {
  const answers: RawAnswer[] = [];
  let at = 0;
  while (at < text.length) {
    const end = text.indexOf('\r\n\r\n', at);
    const status = /^HTTP\/1\.1 (\d{3}) /.exec(text.slice(at, at + 16))?.[1];
    if (end < 0 || status === undefined) break;
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(text.slice(at, end))?.[1] ?? 0);
    const body = text.slice(end + 4, end + 4 + length);
    answers.push({ status: Number(status), body: Buffer.from(body, 'latin1').toString('utf8') });
    // An answer to HEAD has a content length, but no body.
    at = body.startsWith('HTTP/1.1 ') ? end + 4 : end + 4 + length;
  }
  return answers;
}
