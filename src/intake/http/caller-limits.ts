import type { Buffer } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Clock } from '../../core/clock.ts';
import { ConnectionGuard } from '../../ops/connection-guard.ts';
import { RefusalCounts } from '../../ops/refusal-counts.ts';
import { BodyBytes, useRawBody } from './raw-body.ts';
import { FailedTokens } from '../../ops/callers.ts';
import { HttpProblem } from './problem.ts';
import type { WebhookLimits } from './settings.ts';

/** So long a caller may take to read its answer, in ms. */
const readingMs = 30_000;

/** To read a longer body takes so long that something else may be due meanwhile. */
const largeBytes = 16_384;

/** The resources that callers can hold, before and after they proved who they are. */
export class CallerLimits {
  readonly guard: ConnectionGuard;
  readonly refusals: RefusalCounts;
  readonly failedTokens: FailedTokens;
  readonly #unverified: BodyBytes;
  readonly #verified: BodyBytes;
  #lastTurn: Promise<void> = Promise.resolve();

  constructor(limits: WebhookLimits, clock: Clock, logger: Logger) {
    const { connections, connectionsPerAddress, requestMs } = limits;
    const answerMs = requestMs + readingMs;
    this.refusals = new RefusalCounts(clock, logger);
    this.failedTokens = new FailedTokens(clock, logger);
    this.guard = new ConnectionGuard(
      { connections, connectionsPerAddress, answerMs, judgesAddresses: true },
      clock,
      (because) => this.refusals.count(because),
    );
    this.#unverified = new BodyBytes(limits.unverifiedBytes);
    this.#verified = new BodyBytes(limits.verifiedBytes);
  }

  /**
   * Reads a body and returns what `use` makes of it. The body is in memory until `use` returns.
   * Throws HttpProblem when it is too large or incomplete, and when the bodies of others fill the
   * memory.
   * @param from whether the caller proved who it is, before the body was read
   */
  async useBody<T>(
    incoming: IncomingMessage,
    from: { readonly isVerified: boolean; readonly maxBytes: number },
    use: (body: Buffer) => T,
  ): Promise<T> {
    const [memory, name] = from.isVerified
      ? [this.#verified, 'verified_bytes']
      : [this.#unverified, 'unverified_bytes'];
    try {
      const onTinyParts = (): void => this.guard.cutTinyParts(incoming.socket);
      const isProven = this.guard.isFromProven(incoming.socket);
      return await useRawBody(
        incoming,
        { ...from, memory, isProven, onTinyParts },
        async (body) => {
          if (body.length > largeBytes) await this.#turn();
          return use(body);
        },
      );
    } catch (error) {
      if (error instanceof HttpProblem && error.code === 'overloaded') this.refusals.count(name);
      throw error;
    }
  }

  /**
   * Large bodies are read one after the other, and the worker does what else is due between two of
   * them.
   */
  async #turn(): Promise<void> {
    const turn = this.#lastTurn.then(() => nextTurn());
    this.#lastTurn = turn;
    await turn;
  }
}
