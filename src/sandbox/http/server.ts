import type { Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { refusal } from './answers.ts';

/** What cannot be read as an HTTP request is answered by hand: the error body of Spec 7, then the connection ends. */
export function answerBrokenRequests(server: Server): void {
  server.on('clientError', (_error, socket) => refuse(socket));
  server.on('connect', (_request, socket) => refuse(socket));
}

function refuse(socket: Duplex): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const { status, body } = refusal(422, 'invalid_request', 'The request is not well-formed HTTP.');
  const text = JSON.stringify(body);
  socket.end(
    `HTTP/1.1 ${status} Unprocessable Entity\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\nconnection: close\r\n\r\n${text}`,
  );
}
