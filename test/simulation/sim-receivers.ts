import { Buffer } from 'node:buffer';
import type {
  IncomingAnswer,
  OpenConnections,
  OutgoingConnections,
  OutgoingRequest,
} from '../../src/ops/outgoing-http.ts';
import type { Reply } from '../support/shops/shop-order.ts';
import type { ReceiverFault } from './receiver-faults.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { SimProcess } from './sim-process.ts';
import type { VirtualTime } from './virtual-time.ts';

/** A server that receives results. */
export interface Receiver {
  /** Its part of the names of port calls. */
  readonly kind: 'woocommerce' | 'shopify' | 'callback';
  /** What happens to a call that is about to leave. */
  leaves(call: OutgoingRequest, process: SimProcess): ReceiverFault;
  process(call: OutgoingRequest): Reply;
  /** The worker has the answer to a call; null: it has none. */
  answered(call: OutgoingRequest, process: SimProcess, reply: Reply | null): void;
}

/**
 * The network between the worker and the receivers of results, by their origins. A call may be
 * processed although its sender has given it up, or is dead.
 */
export class SimReceivers {
  readonly #time: VirtualTime;
  readonly #random: SeededRandom;
  readonly #receivers = new Map<string, Receiver>();
  readonly #trace: (what: string) => void;
  /** Calls that a receiver may still process. */
  #underWay = 0;

  constructor(options: { time: VirtualTime; random: SeededRandom; trace: (what: string) => void }) {
    this.#time = options.time;
    this.#random = options.random;
    this.#trace = options.trace;
  }

  add(origin: string, receiver: Receiver): void {
    this.#receivers.set(origin, receiver);
  }

  /** No call is on its way any more. */
  get isQuiet(): boolean {
    return this.#underWay === 0;
  }

  /** How a process opens its connections. */
  openerOf(process: SimProcess): OpenConnections {
    return (origin): OutgoingConnections => {
      const receiver = this.#receivers.get(origin);
      if (receiver === undefined) throw new Error(`nobody receives results at ${origin}`);
      return {
        request: (call) =>
          process.port(`${receiver.kind}.${call.method.toLowerCase()}`, () =>
            this.#exchange(receiver, call, process),
          ),
        destroy: async () => undefined,
      };
    };
  }

  #exchange(
    receiver: Receiver,
    call: OutgoingRequest,
    process: SimProcess,
  ): Promise<IncomingAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingAnswer>();
    const fault = receiver.leaves(call, process);
    let isOpen = true;
    const end = (reply: Reply | null): void => {
      if (!isOpen) return;
      isOpen = false;
      call.signal.removeEventListener('abort', giveUp);
      receiver.answered(call, process, reply);
      if (reply === null)
        reject(Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' }));
      else resolve(answerOf(reply));
    };
    const giveUp = (): void => end(null);
    call.signal.addEventListener('abort', giveUp, { once: true });
    if (call.signal.aborted) {
      giveUp();
      return promise;
    }
    this.#travel(receiver, call, process, { fault, isOpen: () => isOpen && process.alive, end });
    return promise;
  }

  #travel(
    receiver: Receiver,
    call: OutgoingRequest,
    process: SimProcess,
    client: {
      readonly fault: ReceiverFault;
      readonly isOpen: () => boolean;
      readonly end: (reply: Reply | null) => void;
    },
  ): void {
    const { fault, end } = client;
    const wayMs = this.#random.int(1, 100);
    const backMs = this.#random.int(1, 100);
    /** Sent bytes can arrive although their sender is gone. */
    const survives = this.#random.chance(0.5);
    const answer = (reply: Reply | null): void => void process.after(backMs, () => end(reply));
    const arrive = (delayMs: number, then: (reply: Reply) => void): void => {
      this.#underWay += 1;
      this.#time.after(delayMs, () => {
        this.#underWay -= 1;
        if (!client.isOpen() && !survives && fault.kind !== 'late') return;
        const reply = receiver.process(call);
        this.#trace(
          `${receiver.kind} ${call.method} ${call.path} ${call.body ?? ''} -> ${reply.status}`,
        );
        then(reply);
      });
    };
    switch (fault.kind) {
      case 'none':
        return arrive(wayMs, answer);
      case 'slow':
        return arrive(wayMs + fault.ms, answer);
      case 'refuse':
        this.#trace(
          `${receiver.kind} ${call.method} ${call.path} is refused: ${fault.reply.status}`,
        );
        return answer(fault.reply);
      case 'lost':
        return answer(null);
      case 'unanswered':
        return arrive(wayMs, () => answer(null));
      case 'late':
        answer(null);
        return arrive(wayMs + backMs + fault.ms, () => undefined);
      case 'silent':
    }
  }
}

function answerOf({ status, body, headers = {} }: Reply): IncomingAnswer {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  return {
    statusCode: status,
    headers,
    body: {
      async *[Symbol.asyncIterator]() {
        yield bytes;
      },
      destroy: () => undefined,
      dump: async () => undefined,
    },
  };
}
