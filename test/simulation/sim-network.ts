import { bodyCapBytes } from '../../src/wholesale/transport/exchange.ts';
import { faultRowOf, type CallEnd, type FaultRow } from '../../src/wholesale/transport/call-end.ts';
import type { HttpCall, HttpPort } from '../../src/wholesale/transport/transport.ts';
import type { ApiAnswer, ApiCall } from './api-call.ts';
import { deniedSecond, type CacheMark, type CallFault, type LostEnd } from './call-faults.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { SimApi } from './sim-api.ts';
import type { SimProcess } from './sim-process.ts';
import { wallStartMs, type VirtualTime } from './virtual-time.ts';

/** How long sent bytes can be in transit after their sender has given up. */
export const longestTransitMs = 25_000;
/** How long the worker waits for the head of an answer, and for the whole answer. */
export const responseMs = 30_000;
export const totalMs = 45_000;

/** One call in flight, as an observer of the network sees it. */
export interface WireCall {
  readonly call: ApiCall;
  readonly process: SimProcess;
  readonly spends: boolean;
  sent: boolean;
  /** When its first byte was sent; Infinity before. */
  leftAtMs: number;
}

export interface WireObserver {
  /** Called before the first byte is sent. */
  onLeaving(wire: WireCall): void;
  /** Called when the worker knows how the call ended. */
  onEnd(wire: WireCall, end: CallEnd): void;
  trace(what: string): void;
}

/**
 * The network between the worker and the API. A call can still arrive within the transit time after
 * the worker has given it up or has crashed.
 */
export class SimNetwork {
  readonly #time: VirtualTime;
  readonly #api: SimApi;
  readonly #random: SeededRandom;
  readonly #faultFor: (call: ApiCall, spends: boolean) => CallFault;
  readonly #observer: WireObserver;
  /** The first answer of the API to each lookup, which a cache repeats. */
  readonly #firstAnswers = new Map<string, { readonly atMs: number; readonly answer: ApiAnswer }>();
  /** How many answers with a date each process has seen. */
  readonly #dated = new Map<SimProcess, number>();

  readonly #hasTwoAccounts: boolean;

  constructor(options: {
    time: VirtualTime;
    api: SimApi;
    random: SeededRandom;
    faultFor: (call: ApiCall, spends: boolean) => CallFault;
    observer: WireObserver;
    /** Two keys are of different accounts. */
    hasTwoAccounts: boolean;
  }) {
    this.#time = options.time;
    this.#api = options.api;
    this.#random = options.random;
    this.#faultFor = options.faultFor;
    this.#observer = options.observer;
    this.#hasTwoAccounts = options.hasTwoAccounts;
  }

  /** The port of one process of the worker. */
  portOf(process: SimProcess): HttpPort {
    return {
      spend: (call) => process.port('http.spend', () => this.#exchange(process, call, true)),
      read: (call) => process.port('http.read', () => this.#exchange(process, call, false)),
      close: async () => undefined,
    };
  }

  #exchange(process: SimProcess, http: HttpCall, spends: boolean): Promise<CallEnd> {
    const call: ApiCall = {
      method: http.method,
      path: http.path,
      authorization: http.headers['authorization'] ?? '',
      body: http.body,
    };
    const wire: WireCall = {
      call,
      process,
      spends,
      sent: false,
      leftAtMs: Number.POSITIVE_INFINITY,
    };
    const callFault = this.#faultFor(call, spends);
    const { promise, resolve } = Promise.withResolvers<CallEnd>();
    let overAtMs: number | null = null;
    const finish = (end: CallEnd): void => {
      if (overAtMs !== null || !process.alive) return;
      overAtMs = this.#time.nowMs;
      http.signal?.removeEventListener('abort', stop);
      this.#observer.onEnd(wire, end);
      resolve(end);
    };
    const fault = (row: FaultRow, message: string, answer?: ApiAnswer): void =>
      finish({
        kind: 'fault',
        row,
        sent: wire.sent,
        message,
        http: answer?.status ?? null,
        headers: answer?.headers ?? {},
      });
    const stop = (): void =>
      fault(
        wire.sent ? 'shutdown' : 'unreachable',
        'the worker stopped while the call was in flight',
      );
    http.signal?.addEventListener('abort', stop, { once: true });
    if (http.signal?.aborted) {
      stop();
      return promise;
    }
    process.after(this.#random.int(1, 40), () => {
      if (overAtMs !== null) return;
      if (callFault.kind === 'not_sent') {
        const error = Object.assign(new Error(`${callFault.errorCode} by the simulation`), {
          code: callFault.errorCode,
        });
        fault(faultRowOf(error, { sent: false, headSeen: false }), error.message);
        return;
      }
      wire.leftAtMs = this.#time.nowMs;
      this.#observer.onLeaving(wire);
      if (!process.alive) return;
      wire.sent = true;
      this.#send(wire, callFault, {
        goneSinceMs: () => overAtMs ?? process.diedAtMs,
        finish,
        fault,
      });
    });
    return promise;
  }

  #send(
    wire: WireCall,
    callFault: Exclude<CallFault, { kind: 'not_sent' }>,
    client: {
      goneSinceMs: () => number | null;
      finish: (end: CallEnd) => void;
      fault: (row: FaultRow, message: string, answer?: ApiAnswer) => void;
    },
  ): void {
    const { process } = wire;
    const wayMs = this.#random.int(1, 150);
    const backMs = this.#random.int(1, 150);
    /**
     * Sent bytes can arrive although their sender is gone; a reset connection discards most of
     * them.
     */
    const survives = this.#random.chance(0.5);
    const answerWith = (answer: ApiAnswer): void => {
      process.after(backMs, () => {
        if (answer.body.length > bodyCapBytes)
          return client.fault(
            'cut_answer',
            `the answer is longer than ${bodyCapBytes} bytes`,
            answer,
          );
        const body = Buffer.from(answer.body);
        client.finish({ kind: 'answer', http: answer.status, headers: answer.headers, body });
      });
    };
    const lose = (end: LostEnd, ms: number): void => {
      const [waitMs, row, text] = lostEnds[end];
      process.after(Math.max(ms, waitMs), () => client.fault(row(), text));
    };
    process.after(responseMs, () =>
      client.fault('headers_timeout', `no answer within ${responseMs} ms`),
    );
    const arrive = (
      delayMs: number,
      processMs: number,
      then: (answer: ApiAnswer) => void,
    ): void => {
      this.#time.after(delayMs, () => {
        const goneSinceMs = client.goneSinceMs();
        if (goneSinceMs !== null) {
          if (!survives && callFault.kind !== 'late_request') return;
          if (this.#time.nowMs - goneSinceMs > longestTransitMs) return;
        }
        this.#api.arrivals.repeatedByOthers = callFault.kind === 'twice' && delayMs > wayMs;
        const reception = this.#api.receive(wire.call);
        this.#api.arrivals.repeatedByOthers = false;
        if (reception.kind === 'rate_limited') return this.#processed(wire, reception.answer, then);
        this.#time.after(processMs, () => this.#processed(wire, reception.process(), then));
      });
    };
    const usualMs = this.#random.int(1, 400);
    switch (callFault.kind) {
      case 'cached': {
        const answer = this.#cachedAnswer(wire, callFault.mark);
        return answer === null ? arrive(wayMs, usualMs, answerWith) : answerWith(answer);
      }
      case 'none':
        return arrive(wayMs, usualMs, answerWith);
      case 'slow':
        return arrive(wayMs, callFault.processMs, answerWith);
      case 'twice': {
        arrive(wayMs, usualMs, () => undefined);
        const secondMs = wayMs + this.#random.int(1, 2000);
        const denial = this.#random.chance(0.6) ? deniedSecond(this.#random, wire.call.path) : null;
        // The worker takes it that a key which is denied has not bought a moment before.
        const isOfKey = /"(invalid_key|ip_not_allowed)"/.test(denial?.body ?? '');
        if (denial === null || (isOfKey && this.#hasTwoAccounts))
          return arrive(secondMs, usualMs, answerWith);
        this.#time.after(secondMs, () => answerWith(denial));
        return;
      }
      case 'lost_request':
        return lose(callFault.end, wayMs);
      case 'late_request':
        lose(callFault.end, wayMs);
        return arrive(
          Math.max(wayMs, lostEnds[callFault.end][0]) + callFault.lateMs,
          usualMs,
          () => undefined,
        );
      case 'lost_answer':
        return arrive(wayMs, usualMs, (answer) => {
          if (callFault.end === 'cut')
            process.after(backMs, () => client.fault('cut_answer', 'other side closed', answer));
          else lose(callFault.end, backMs);
        });
      case 'replaced': {
        const { answer } = callFault;
        if (callFault.processed) arrive(wayMs, usualMs, () => answerWith(answer));
        else answerWith(answer);
        return;
      }
      case 'refused':
        answerWith(callFault.answer);
    }
  }

  /** What a cache answers; null when it has nothing, or when nobody could see that it is old. */
  #cachedAnswer({ call, process }: WireCall, mark: CacheMark): ApiAnswer | null {
    const first = this.#firstAnswers.get(call.path);
    if (first === undefined || call.method !== 'GET') return null;
    const ageMs = this.#time.nowMs - first.atMs;
    // A process that has just started knows no time of the API.
    if (mark === 'date')
      return ageMs > 5000 && (this.#dated.get(process) ?? 0) > 9 ? first.answer : null;
    const header = mark === 'age' ? { age: String(Math.ceil(ageMs / 1000)) } : { 'x-cache': 'HIT' };
    // Some caches date what they repeat: then only the header shows it.
    const date = new Date(wallStartMs + this.#time.nowMs).toUTCString();
    return { ...first.answer, headers: { ...first.answer.headers, date, ...header } };
  }

  #processed(wire: WireCall, answer: ApiAnswer, then: (answer: ApiAnswer) => void): void {
    this.#observer.trace(
      `api ${wire.call.method} ${wire.call.path} ${wire.call.body ?? ''} -> ${answer.status} ${answer.body.slice(0, 1000)}`,
    );
    // The API's own clock is right; what a proxy answers shows none.
    const date = new Date(wallStartMs + this.#time.nowMs).toUTCString();
    const shown = { ...answer, headers: { date, ...answer.headers } };
    const { path } = wire.call;
    if (!this.#firstAnswers.has(path))
      this.#firstAnswers.set(path, { atMs: this.#time.nowMs, answer: shown });
    this.#dated.set(wire.process, (this.#dated.get(wire.process) ?? 0) + 1);
    then(shown);
  }
}

const dropped = (): FaultRow =>
  faultRowOf(Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' }), {
    sent: true,
    headSeen: false,
  });
const lostEnds: Readonly<Record<LostEnd, readonly [number, () => FaultRow, string]>> = {
  reset: [0, dropped, 'other side closed'],
  timeout: [responseMs, () => 'headers_timeout', `no answer within ${responseMs} ms`],
  deadline: [totalMs - responseMs, () => 'deadline', `no complete answer within ${totalMs} ms`],
};
