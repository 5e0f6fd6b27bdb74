import { EventEmitter } from 'node:events';
import type { startWebhookServer, WebhookAnswers } from '../../src/intake/http/webhook-server.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { SimProcess } from './sim-process.ts';
import type { VirtualTime } from './virtual-time.ts';
import type { Invariant } from './invariants.ts';

export interface SimRequest {
  readonly method: 'POST' | 'DELETE';
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface SimAnswer {
  readonly status: number;
  // oxlint-disable-next-line typescript/no-explicit-any -- JSON whose form each sender checks by itself
  readonly json: any;
}

/** A request as the routes read it: headers, and a body that arrives in pieces or breaks off. */
class SimIncoming extends EventEmitter {
  readonly headers: Readonly<Record<string, string>>;
  readonly socket = { remoteAddress: '192.0.2.1' };
  readonly destroyed = false;
  readonly readableEnded = false;

  constructor(headers: Readonly<Record<string, string>>) {
    super();
    this.headers = headers;
  }
}

type Bindings = Parameters<WebhookAnswers>[1];

/** The routes use no more of a request than this. */
const isBindings = (value: { readonly incoming: SimIncoming }): value is typeof value & Bindings =>
  value.incoming instanceof SimIncoming;

/** How long a sender waits for an answer. */
const patienceMs = 90_000;
const port = 'intake.answer';

/**
 * The connections between shops and the worker. Bodies break off, answers get lost, and a dead
 * worker answers nothing. The worker's side begins where its server would hand over a request.
 */
export class SimHttp {
  readonly #time: VirtualTime;
  readonly #random: SeededRandom;
  readonly #trace: (what: string) => void;
  readonly #violate: (invariant: Invariant, sentence: string) => void;
  #server: { readonly process: SimProcess; readonly answers: WebhookAnswers; open: number } | null =
    null;
  /** How often a connection breaks. */
  lossShare: number;

  constructor(options: {
    time: VirtualTime;
    random: SeededRandom;
    lossShare: number;
    trace: (what: string) => void;
    violate: (invariant: Invariant, sentence: string) => void;
  }) {
    this.#violate = options.violate;
    this.#time = options.time;
    this.#random = options.random;
    this.#trace = options.trace;
    this.lossShare = options.lossShare;
  }

  /** In the place of a server that listens. */
  serverOf(process: SimProcess): typeof startWebhookServer {
    return async (answers) => {
      const server = { process, answers, open: 0 };
      this.#server = server;
      return {
        address: '127.0.0.1:8080',
        close: async (graceMs) => {
          if (this.#server === server) this.#server = null;
          for (let waitedMs = 0; server.open > 0 && waitedMs < graceMs; waitedMs += 50)
            await process.sleep(50);
        },
      };
    };
  }

  /** The worker is gone, and its connections with it. */
  crash(): void {
    this.#server = null;
  }

  /** Calls `onAnswer` once; with null when no answer came, whatever became of the request. */
  send(request: SimRequest, onAnswer: (answer: SimAnswer | null) => void): void {
    const server = this.#server;
    let isOver = false;
    const end = (answer: SimAnswer | null): void => {
      if (isOver) return;
      isOver = true;
      cancel();
      this.#trace(
        `answer to ${request.method} ${request.path}: ${answer === null ? 'none' : answer.status}`,
      );
      onAnswer(answer);
    };
    const cancel = this.#time.after(server === null ? 100 : patienceMs, () => end(null));
    if (server === null) return;
    const { process } = server;
    const incoming = new SimIncoming(request.headers);
    const isCut = this.#random.chance(this.lossShare);
    server.open += 1;
    const web = new Request(`http://worker${request.path}`, { method: request.method });
    const bindings = { incoming, outgoing: {} };
    if (!isBindings(bindings)) return;
    const answered = server.answers(web, bindings).then(async (response) => {
      const text = await response.text();
      server.open -= 1;
      if (isCut) return;
      const isLost = this.#random.chance(this.lossShare);
      const answer = { status: response.status, json: text === '' ? null : JSON.parse(text) };
      await process.port(port, () => {
        // The sender compares its answer with the outbox, which is open now.
        if (!isLost) end(answer);
      });
    });
    answered.catch((error: unknown) =>
      this.#violate('I0', `a request was not answered: ${String(error)}`),
    );
    this.#sendBody(incoming, Buffer.from(request.body), isCut);
  }

  #sendBody(incoming: SimIncoming, body: Buffer, isCut: boolean): void {
    const splitAt = this.#random.int(0, body.length);
    const firstMs = this.#random.int(1, 20);
    this.#time.after(firstMs, () => void incoming.emit('data', body.subarray(0, splitAt)));
    this.#time.after(firstMs + this.#random.int(1, 500), () => {
      if (!isCut) {
        incoming.emit('data', body.subarray(splitAt));
        incoming.emit('end');
      }
      incoming.emit('close');
    });
  }
}
