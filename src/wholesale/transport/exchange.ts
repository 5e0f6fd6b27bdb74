import type { Dispatcher } from 'undici';
import { plainHeaders, type PlainHeaders } from '../../core/http-headers.ts';
import type { CallEnd, FaultRow } from './call-end.ts';
import { faultMessage, faultRowOf } from './transport-errors.ts';

/** An answer larger than this is not the API's: its payloads are some codes or eSIMs. */
export const bodyCapBytes = 1024 * 1024;

/** Limits of one exchange, in ms. */
export interface ExchangeLimits {
  /** From the request to the head of the answer. */
  readonly responseMs: number;
  /** Between two parts of the body. */
  readonly bodyMs: number;
  /** The whole call, with name resolution and connecting. */
  readonly totalMs: number;
}

type IncomingHeaders = Parameters<typeof plainHeaders>[0];

/**
 * One request and its answer, as undici tells it. Whatever happens first is how the call ended; what is reported
 * later changes nothing. It always ends: its own timers see to that, because those of undici do not cover the time
 * before a request is written, and would close the connection before it could be reset.
 *
 * `onRequestStart` is called by undici right before it writes the head of the request to the socket, and never
 * otherwise. So a call that was not started surely never left, and one that was started may have.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly end: Promise<CallEnd>;
  readonly #limits: ExchangeLimits;
  readonly #settle: (end: CallEnd) => void;
  readonly #totalTimer: NodeJS.Timeout;
  #stepTimer: NodeJS.Timeout | undefined;
  #controller: Dispatcher.DispatchController | null = null;
  #over = false;
  #sent = false;
  #http: number | null = null;
  #headers: PlainHeaders = {};
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(limits: ExchangeLimits) {
    const { promise, resolve } = Promise.withResolvers<CallEnd>();
    this.end = promise;
    this.#settle = resolve;
    this.#limits = limits;
    this.#totalTimer = setTimeout(
      () => this.giveUp('deadline', `no complete answer within ${limits.totalMs} ms`),
      limits.totalMs,
    );
  }

  #finish(end: CallEnd): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#totalTimer);
    clearTimeout(this.#stepTimer);
    this.#chunks = [];
    this.#settle(end);
  }

  #fault(row: FaultRow, message: string): void {
    this.#finish({ kind: 'fault', row, sent: this.#sent, message, http: this.#http, headers: this.#headers });
  }

  #expectWithin(ms: number, row: 'headers_timeout' | 'cut_answer', message: string): void {
    clearTimeout(this.#stepTimer);
    this.#stepTimer = setTimeout(() => this.#fault(row, message), ms);
  }

  /**
   * Ends the call: nothing of it is written after this. The row counts only for a call that may have left; one that
   * did not is simply unreachable. Whoever gives it up breaks its connection off.
   */
  giveUp(row: Extract<FaultRow, 'deadline' | 'shutdown'>, message: string): void {
    this.#fault(this.#sent ? row : 'unreachable', message);
  }

  /** Breaks off a shared connection on which the call may still be open. */
  breakOff(): void {
    if (!this.#controller?.aborted) this.#controller?.abort(new Error('the call was given up'));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#over || this.#sent) {
      // Given up while it waited, or about to be written a second time: neither may reach the server.
      controller.abort(new Error('the call is over'));
      return;
    }
    this.#sent = true;
    this.#controller = controller;
    const { responseMs } = this.#limits;
    this.#expectWithin(responseMs, 'headers_timeout', `no answer within ${responseMs} ms`);
  }

  #expectBody(): void {
    const { bodyMs } = this.#limits;
    this.#expectWithin(bodyMs, 'cut_answer', `the answer stood still for ${bodyMs} ms`);
  }

  onResponseStart(_controller: Dispatcher.DispatchController, statusCode: number, headers: IncomingHeaders): void {
    // 100 and 103 announce an answer; they are none.
    if (this.#over || statusCode < 200) return;
    this.#http = statusCode;
    this.#headers = plainHeaders(headers);
    this.#expectBody();
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#over) return;
    this.#bytes += chunk.byteLength;
    if (this.#bytes > bodyCapBytes) {
      this.#fault('cut_answer', `the answer is longer than ${bodyCapBytes} bytes; the rest was not read`);
      return;
    }
    this.#chunks.push(chunk);
    this.#expectBody();
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
