import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import * as z from 'zod';
import { type Answer, refusal, textOf } from '../orders/call.ts';
import type { Fault } from '../settings/fault-rules.ts';
import type { DrawnFault } from './fault-selection.ts';

/** A call that a fault hits, with everything that the fault can do. */
export type Exchange = {
  socket: Socket;
  perform(): Promise<Answer>;
  /** Counts the call now, then calls `onAdmitted`, and carries out the call after `delayMs`. */
  performLater(delayMs: number, onAdmitted: () => void): Promise<Answer>;
  /**
   * Logs the call with this answer, or with none, without carrying it out. Returns the answer as it
   * is sent.
   */
  note(answer?: Answer): Promise<Answer>;
  pause: (ms: number) => Promise<void>;
};

type FaultNamed<Name extends Fault['fault']> = Extract<Fault, { fault: Name }>;
/** The faults that answer in place of the service, or decide when it does its work. */
type ReplacingFault = FaultNamed<'api_disabled' | 'rate_limited' | 'late_commit'>;

/**
 * Carries out one fault. Returns an answer to send in the ordinary way, or null: it has dealt with
 * the socket itself.
 */
export async function deliverFault(drawn: DrawnFault, exchange: Exchange): Promise<Answer | null> {
  const { fault, onlyWhenCommitted } = drawn;
  switch (fault.fault) {
    case 'api_disabled':
      return exchange.note(
        refusal(503, 'api_disabled', 'The API is switched off for maintenance.'),
      );
    case 'rate_limited': {
      const headers =
        fault.retry_after_s === undefined ? {} : { 'retry-after': String(fault.retry_after_s) };
      return exchange.note({ ...refusal(429, 'rate_limited', 'Rate limit reached.'), headers });
    }
    case 'late_commit': {
      const isDropped = fault.meanwhile === 'drop';
      const answer = await exchange.performLater(
        fault.delay_ms,
        () => isDropped && exchange.socket.end(),
      );
      return isDropped ? null : answer;
    }
    default: {
      if ('when' in fault && fault.when === 'before')
        return spoil(fault, await exchange.note(), exchange);
      const answer = await exchange.perform();
      return onlyWhenCommitted && answer.committed !== true
        ? answer
        : spoil(fault, answer, exchange);
    }
  }
}

type SpoilingFault = Exclude<Fault, ReplacingFault>;

async function spoil(
  fault: SpoilingFault,
  answer: Answer,
  { socket, pause }: Exchange,
): Promise<Answer | null> {
  switch (fault.fault) {
    case 'html_502':
      return {
        status: 502,
        body: '<html><head><title>502 Bad Gateway</title></head><body><center><h1>502 Bad Gateway</h1></center></body></html>\n',
        headers: { 'content-type': 'text/html' },
      };
    case 'redirect':
      return { status: fault.status, body: '', headers: { location: fault.location } };
    case 'other_reference':
      return changed(answer, (order) => ({ ...order, reference: fault.reference }));
    case 'huge_body':
      return changed(answer, (order) => ({ ...order, padding: 'x'.repeat(fault.bytes) }));
    case 'missing_units':
      return changed(answer, withoutLastUnit);
    case 'answer':
      return {
        status: fault.status,
        body: fault.body,
        headers: { 'content-type': fault.content_type },
      };
    case 'empty_stock':
      // Carried out in the transaction of the order; the answer itself is correct.
      return answer;
    case 'reset':
      socket.resetAndDestroy();
      break;
    case 'hang':
      await pause(fault.duration_ms);
      socket.destroy();
      break;
    case 'slow_body':
      await writeSlowly(fault, answer, socket, pause);
      break;
    default:
      socket.end(bytesOf(fault, answer));
  }
  return null;
}

function bytesOf(
  fault: FaultNamed<'lost_answer' | 'garbage' | 'cut_body' | 'wrong_content_length'>,
  answer: Answer,
): Buffer {
  const body = Buffer.from(textOf(answer));
  switch (fault.fault) {
    case 'lost_answer':
      return Buffer.alloc(0);
    case 'garbage':
      return Buffer.from('\u0000\u0001this is not HTTP\r\n\r\n');
    case 'wrong_content_length':
      return Buffer.concat([
        head(answer, `content-length: ${Math.max(0, body.length + fault.delta)}`),
        body,
      ]);
    case 'cut_body': {
      // The head and the first 50 % of the body. Framed by the end of the connection, only the JSON
      // shows the cut.
      const cut = body.subarray(0, Math.ceil(body.length / 2));
      if (fault.framing === 'content_length')
        return Buffer.concat([head(answer, `content-length: ${body.length}`), cut]);
      if (fault.framing === 'close') return Buffer.concat([head(answer), cut]);
      const size = Buffer.from(`${cut.length.toString(16)}\r\n`);
      return Buffer.concat([
        head(answer, 'transfer-encoding: chunked'),
        size,
        cut,
        Buffer.from('\r\n'),
      ]);
    }
  }
}

async function writeSlowly(
  fault: FaultNamed<'slow_body'>,
  answer: Answer,
  socket: Socket,
  pause: Exchange['pause'],
): Promise<void> {
  const body = Buffer.from(textOf(answer));
  socket.write(head(answer, `content-length: ${body.length}`));
  for (let start = 0; start < body.length && !socket.destroyed; start += fault.bytes) {
    socket.write(body.subarray(start, start + fault.bytes));
    await pause(fault.interval_ms);
  }
  socket.end();
}

/** Status line and headers, written by hand: an HTTP library would not send these answers. */
function head(answer: Answer, ...framing: string[]): Buffer {
  const lines = [
    `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status] ?? 'Unknown'}`,
    'content-type: application/json',
    ...Object.entries(answer.headers ?? {}).map(([name, value]) => `${name}: ${value}`),
    'connection: close',
    ...framing,
  ];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`);
}

function changed(
  answer: Answer,
  change: (order: Record<string, unknown>) => Record<string, unknown>,
): Answer {
  const order = z.record(z.string(), z.unknown()).parse(JSON.parse(textOf(answer)));
  return { ...answer, body: JSON.stringify(change(order)) };
}

function withoutLastUnit(order: Record<string, unknown>): Record<string, unknown> {
  for (const list of ['codes', 'esims']) {
    const units = order[list];
    if (Array.isArray(units)) return { ...order, [list]: units.slice(0, -1) };
  }
  return order;
}
