import type { Dispatcher } from 'undici';
import { decompress } from '../../core/decompress.ts';
import { plainHeaders, type PlainHeaders } from '../../core/http-headers.ts';
import { faultMessage, faultRowOf, type CallEnd, type FaultRow } from './call-end.ts';

/** A larger answer is not the API's: its payloads are a few codes or eSIMs. */
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
 * One request and its answer, as undici reports them. The first end counts; later reports change
 * nothing. The exchange always ends, by timers of its own: undici's timers do not cover the time
 * before the request is written, and they close the connection before it can be reset.
 *
 * undici calls `onRequestStart` right before it writes the head of the request to the socket, and
 * only then. A call that was not started therefore never left, and one that was started may have
 * left.
 *
 * @internal
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
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(limits: ExchangeLimits) {
    const { promise, resolve } = Promise.withResolvers<CallEnd>();
    this.end = promise;
    this.#settle = resolve;
    this.#limits = limits;
    this.#totalTimer = setTimeout(
      () => this.abort('deadline', `no complete answer within ${limits.totalMs} ms`),
      limits.totalMs,
    );
  }

  #finish(end: CallEnd): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#totalTimer);
    clearTimeout(this.#stepTimer);
    this.#parts = [];
    this.#settle(end);
  }

  #fault(row: FaultRow, message: string): void {
    this.#finish({
      kind: 'fault',
      row,
      sent: this.#sent,
      message,
      http: this.#http,
      headers: this.#headers,
    });
  }

  #expectWithin(ms: number, row: 'headers_timeout' | 'cut_answer', message: string): void {
    clearTimeout(this.#stepTimer);
    this.#stepTimer = setTimeout(() => this.#fault(row, message), ms);
  }

  /**
   * Ends the call: nothing of it is written any more. `row` applies to a call that may have left; a
   * call that did not ends as `unreachable`. The caller must also close the connection.
   */
  abort(row: Extract<FaultRow, 'deadline' | 'shutdown'>, message: string): void {
    this.#fault(this.#sent ? row : 'unreachable', message);
  }

  /** Closes a shared connection on which the call may still be in flight. */
  closeConnection(): void {
    if (!this.#controller?.aborted) this.#controller?.abort(new Error('the call was aborted'));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#over || this.#sent) {
      // Aborted while it was queued, or about to be written a second time: neither may reach the
      // server.
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
    this.#expectWithin(bodyMs, 'cut_answer', `no part of the answer came for ${bodyMs} ms`);
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    statusCode: number,
    headers: IncomingHeaders,
  ): void {
    // 100 and 103 only announce the answer.
    if (this.#over || statusCode < 200) return;
    this.#http = statusCode;
    this.#headers = plainHeaders(headers);
    this.#expectBody();
  }

  onResponseData(_controller: Dispatcher.DispatchController, part: Buffer): void {
    if (this.#over) return;
    this.#bytes += part.byteLength;
    if (this.#bytes > bodyCapBytes) {
      this.#fault(
        'cut_answer',
        `the answer is longer than ${bodyCapBytes} bytes; the rest was not read`,
      );
      return;
    }
    this.#parts.push(part);
    this.#expectBody();
  }

  onResponseEnd(): void {
    if (this.#http === null) {
      this.#fault('cut_answer', 'the answer ended without a status');
      return;
    }
    const read = decompress(
      Buffer.concat(this.#parts),
      this.#headers['content-encoding'],
      bodyCapBytes,
    );
    if ('problem' in read) this.#fault('cut_answer', read.problem);
    else
      this.#finish({ kind: 'answer', http: this.#http, headers: this.#headers, body: read.body });
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: unknown): void {
    const row = faultRowOf(error, { sent: this.#sent, headSeen: this.#http !== null });
    this.#fault(row, faultMessage(error));
  }
}
