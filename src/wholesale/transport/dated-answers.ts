import type { HttpCall, HttpPort } from './transport.ts';
import type { CallEnd } from './call-end.ts';

/** When an answer came, and what its `Date` says (RFC 9110, 6.6.1), in ms; null when it has none that can be used. */
export interface AnswerTime {
  readonly sentMono: number;
  readonly receivedMono: number;
  readonly dateMs: number | null;
}

/** Receives the time of each answer. */
export interface AnswerTimes {
  readonly monoMs: () => number;
  readonly onAnswer: (time: AnswerTime) => void;
}

/** Tells the time of each answer that comes through this network. */
export class DatedAnswers implements HttpPort {
  readonly #network: HttpPort;
  readonly #times: AnswerTimes;

  constructor(network: HttpPort, times: AnswerTimes) {
    this.#network = network;
    this.#times = times;
  }

  spend(call: HttpCall): Promise<CallEnd> {
    return this.#timed(() => this.#network.spend(call));
  }

  read(call: HttpCall): Promise<CallEnd> {
    return this.#timed(() => this.#network.read(call));
  }

  close(): Promise<void> {
    return this.#network.close();
  }

  async #timed(call: () => Promise<CallEnd>): Promise<CallEnd> {
    const { monoMs, onAnswer } = this.#times;
    const sentMono = monoMs();
    const end = await call();
    if (end.kind === 'answer') onAnswer({ sentMono, receivedMono: monoMs(), dateMs: dateOf(end.headers) });
    return end;
  }
}

/** An HTTP date starts with the name of a day. A cache repeats the date of the first answer, and says so by `Age`. */
function dateOf(headers: CallEnd['headers']): number | null {
  const { date = '', age = '0' } = headers;
  const dateMs = /^[A-Za-z]{3}, \d/.test(date) && Number(age) === 0 ? Date.parse(date) : Number.NaN;
  return Number.isNaN(dateMs) ? null : dateMs;
}
