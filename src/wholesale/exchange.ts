import type { Dispatcher } from 'undici';
import type { AnswerHeaders, CallEnd, FaultRow } from './call-end.ts';
import { faultMessage, faultRowOf } from './transport-errors.ts';

/** An answer larger than this is not the API's: its payloads are some codes or eSIMs. */
export const bodyCapBytes = 1024 * 1024;

type IncomingHeaders = Readonly<Record<string, string | string[] | undefined>>;

function plainHeaders(headers: IncomingHeaders): AnswerHeaders {
  const plain: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) plain[name.toLowerCase()] = Array.isArray(value) ? value.join(', ') : value;
  }
  return plain;
}

/**
 * One request and its answer, as undici tells it. Whatever happens first is how the call ended; what undici reports
 * later changes nothing.
 *
 * `onRequestStart` is called by undici right before it writes the head of the request to the socket, and never
 * otherwise. So a call that was not started surely never left, and one that was started may have.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly end: Promise<CallEnd>;
  #settle: (end: CallEnd) => void;
  #controller: Dispatcher.DispatchController | null = null;
  #over = false;
  #sent = false;
  #http: number | null = null;
  #headers: AnswerHeaders = {};
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<CallEnd>();
    this.end = promise;
    this.#settle = resolve;
  }

  /** Whether the first byte may have left. */
  get sent(): boolean {
    return this.#sent;
  }

  #finish(end: CallEnd): void {
    if (this.#over) return;
    this.#over = true;
    this.#chunks = [];
    this.#settle(end);
  }

  #fault(row: FaultRow, message: string): void {
    this.#finish({ kind: 'fault', row, sent: this.#sent, message, http: this.#http, headers: this.#headers });
  }

  /**
   * Gives the call up: nothing of it is written after this, and its connection is broken off. The row counts only for
   * a call that may have left; one that did not is simply unreachable.
   */
  giveUp(row: Extract<FaultRow, 'deadline' | 'shutdown'>, message: string): void {
    if (this.#over) return;
    this.#fault(this.#sent ? row : 'unreachable', message);
    this.#controller?.abort(new Error(message));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#over || this.#sent) {
      // Given up while it waited, or about to be written a second time: neither may reach the server.
      controller.abort(new Error('the call is over'));
      return;
    }
    this.#sent = true;
    this.#controller = controller;
  }

  onResponseStart(_controller: Dispatcher.DispatchController, statusCode: number, headers: IncomingHeaders): void {
    // 100 and 103 announce an answer; they are none.
    if (statusCode < 200) return;
    this.#http = statusCode;
    this.#headers = plainHeaders(headers);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#over) return;
    this.#bytes += chunk.byteLength;
    if (this.#bytes > bodyCapBytes) {
      this.#fault('cut_answer', `the answer is longer than ${bodyCapBytes} bytes; the rest was not read`);
      controller.abort(new Error('the answer is too long'));
      return;
    }
    this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    if (this.#http === null) {
      this.#fault('cut_answer', 'the answer ended without a status');
      return;
    }
    this.#finish({ kind: 'answer', http: this.#http, headers: this.#headers, body: Buffer.concat(this.#chunks) });
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: unknown): void {
    const row = faultRowOf(error, { sent: this.#sent, headSeen: this.#http !== null });
    this.#fault(row, faultMessage(error));
  }
}
