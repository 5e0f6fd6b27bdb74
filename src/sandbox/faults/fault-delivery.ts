import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import * as z from 'zod';
import { type Answer, refusal } from '../http/answers.ts';
import type { Fault } from './fault-rules.ts';

/** What a spoiled exchange may do; the HTTP side provides it. */
export type Exchange = {
  socket: Socket;
  /** Does the work of the call and commits it. */
  perform(): Promise<Answer>;
  /** Lets the call in now, tells the caller by `admitted`, and does the work after `delayMs`. */
  performLater(delayMs: number, admitted: () => void): Promise<Answer>;
  /** Records that the call came and was never worked on. */
  note(status: number): Promise<void>;
  pause(ms: number): Promise<void>;
};

/** Either an answer to send in the ordinary way, or nothing: the socket was dealt with. */
export type Delivery = Answer | 'done';

/** Carries one fault out. */
export async function deliverFault(fault: Fault, onlyWhenCommitted: boolean, exchange: Exchange): Promise<Delivery> {
  const { socket } = exchange;
  const before = 'when' in fault && fault.when === 'before';
  if (fault.fault === 'api_disabled') {
    await exchange.note(503);
    return refusal(503, 'api_disabled', 'The API is switched off for maintenance.');
  }
  if (fault.fault === 'rate_limited') {
    await exchange.note(429);
    const headers = fault.retry_after_s === undefined ? {} : { 'retry-after': String(fault.retry_after_s) };
    return { ...refusal(429, 'rate_limited', 'Rate limit reached.'), headers };
  }
  if (fault.fault === 'late_commit') return commitLate(fault, exchange);
  let answer: Answer;
  if (before) {
    await exchange.note(0);
    answer = { status: 200, body: {} };
  } else {
    answer = await exchange.perform();
    if (onlyWhenCommitted && answer.committed !== true) return answer;
  }
  switch (fault.fault) {
    case 'lost_answer':
      socket.end();
      return 'done';
    case 'reset':
      socket.resetAndDestroy();
      return 'done';
    case 'hang':
      await exchange.pause(fault.duration_ms);
      socket.destroy();
      return 'done';
    case 'cut_body':
      return cutBody(fault.framing, answer, socket);
    case 'slow_body':
      return slowBody(fault, answer, exchange);
    case 'html_502':
      return {
        status: 502,
        body: '<html><head><title>502 Bad Gateway</title></head><body><center><h1>502 Bad Gateway</h1></center></body></html>\n',
        headers: { 'content-type': 'text/html' },
      };
    case 'redirect':
      return { status: fault.status, body: '', headers: { location: fault.location } };
    case 'wrong_content_length': {
      const body = bodyOf(answer);
      const stated = Math.max(0, body.length + fault.delta);
      socket.end(Buffer.concat([head(answer, [`content-length: ${stated}`]), body]));
      return 'done';
    }
    case 'other_reference':
      return { ...answer, body: changed(answer, (order) => ({ ...order, reference: fault.reference })) };
    case 'huge_body':
      return { ...answer, body: changed(answer, (order) => ({ ...order, padding: 'x'.repeat(fault.bytes) })) };
    case 'missing_units':
      return { ...answer, body: changed(answer, withoutLastUnit) };
    case 'garbage':
      socket.end('\u0000\u0001this is not HTTP\r\n\r\n');
      return 'done';
    case 'answer':
      return { status: fault.status, body: fault.body, headers: { 'content-type': fault.content_type } };
    default:
      // Done inside the transaction of the order; the answer itself is correct.
      fault.fault satisfies 'empty_stock';
      return answer;
  }
}

async function commitLate(fault: Extract<Fault, { fault: 'late_commit' }>, exchange: Exchange): Promise<Delivery> {
  const answer = await exchange.performLater(fault.delay_ms, () => {
    if (fault.meanwhile === 'drop') exchange.socket.end();
  });
  return fault.meanwhile === 'hang' ? answer : 'done';
}

/** Half of the body. Where the end of the body is the end of the connection, nothing but the JSON shows the cut. */
function cutBody(framing: 'content_length' | 'chunked' | 'close', answer: Answer, socket: Socket): 'done' {
  const body = bodyOf(answer);
  const half = body.subarray(0, Math.ceil(body.length / 2));
  if (framing === 'content_length') {
    socket.end(Buffer.concat([head(answer, [`content-length: ${body.length}`]), half]));
  } else if (framing === 'chunked') {
    const size = Buffer.from(`${half.length.toString(16)}\r\n`);
    socket.end(Buffer.concat([head(answer, ['transfer-encoding: chunked']), size, half, Buffer.from('\r\n')]));
  } else {
    socket.end(Buffer.concat([head(answer, []), half]));
  }
  return 'done';
}

async function slowBody(
  fault: Extract<Fault, { fault: 'slow_body' }>,
  answer: Answer,
  exchange: Exchange,
): Promise<'done'> {
  const { socket } = exchange;
  const body = bodyOf(answer);
  socket.write(head(answer, [`content-length: ${body.length}`]));
  for (let start = 0; start < body.length && !socket.destroyed; start += fault.bytes) {
    socket.write(body.subarray(start, start + fault.bytes));
    await exchange.pause(fault.interval_ms);
  }
  socket.end();
  return 'done';
}

/** A head written by hand, because these answers break the rules that an HTTP library keeps. */
function head(answer: Answer, extra: string[]): Buffer {
  const lines = [
    `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status] ?? 'Unknown'}`,
    'content-type: application/json',
    ...Object.entries(answer.headers ?? {}).map(([name, value]) => `${name}: ${value}`),
    'connection: close',
    ...extra,
  ];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`);
}

export function textOf(answer: Answer): string {
  return typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body);
}

function bodyOf(answer: Answer): Buffer {
  return Buffer.from(textOf(answer));
}

function changed(answer: Answer, change: (order: Record<string, unknown>) => Record<string, unknown>): string {
  return JSON.stringify(change(z.record(z.string(), z.unknown()).parse(JSON.parse(textOf(answer)))));
}

function withoutLastUnit(order: Record<string, unknown>): Record<string, unknown> {
  for (const list of ['codes', 'esims']) {
    const units = order[list];
    if (Array.isArray(units)) return { ...order, [list]: units.slice(0, -1) };
  }
  return order;
}
