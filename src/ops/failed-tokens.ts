import type { Logger } from 'pino';
import type { Clock } from '../core/clock.ts';
import { callerAddress } from './caller-address.ts';
import { RateLimit } from './rate-limit.ts';

/** Of one address, so many wrong tokens are answered at once, and then one a second. */
const wrongTokens = { perMinute: 60, burst: 20 };
/** Of so many addresses is anything remembered; the count begins anew with more. */
const mostAddresses = 10_000;
/** With more, each proves itself again. */
const mostProven = 10_000;
const countedForMs = 3_600_000;

/**
 * Slows down who tries tokens, for each address, and says so in the log. A caller that showed its token at this address before
 * is never slowed down: many may share the address of a proxy.
 */
export class FailedTokens {
  readonly #clock: Clock;
  readonly #logger: Logger;
  #rates: RateLimit;
  #addresses = new Set<string>();
  readonly #proven = new Set<string>();
  #failures = 0;
  #countedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock;
    this.#logger = logger;
    this.#rates = this.#newRates();
  }

  /**
   * Judges a token that was sent from this address. Returns 0 when it is answered as usual; otherwise the ms after which the
   * next one is, whether it is right or wrong: the answer must not tell.
   * @param caller the name of the caller whose token it is; null: it is wrong
   */
  judge(remoteAddress: string | undefined, caller: string | null): number {
    const address = callerAddress(remoteAddress ?? '');
    const proof = `${address} ${caller ?? ''}`;
    if (caller !== null && this.#proven.has(proof)) return 0;
    if (caller !== null && !this.#addresses.has(address)) {
      this.#prove(proof);
      return 0;
    }
    if (caller === null) this.#count(address);
    const waitMs = this.#rates.take(address);
    if (waitMs === 0 && caller !== null) this.#prove(proof);
    return waitMs;
  }

  #prove(proof: string): void {
    if (this.#proven.size >= mostProven) this.#proven.clear();
    this.#proven.add(proof);
  }

  #newRates(): RateLimit {
    return new RateLimit(this.#clock, wrongTokens.perMinute, wrongTokens.burst);
  }

  /** A line at the first wrong token of an hour, the tenth, the hundredth and so on. */
  #count(address: string): void {
    if (this.#addresses.size >= mostAddresses) {
      this.#addresses = new Set();
      this.#rates = this.#newRates();
    }
    this.#addresses.add(address);
    const nowMs = this.#clock.monoMs();
    if (nowMs >= this.#countedUntilMs) {
      this.#failures = 0;
      this.#countedUntilMs = nowMs + countedForMs;
    }
    this.#failures += 1;
    if (!Number.isInteger(Math.log10(this.#failures))) return;
    const details = { wrong_tokens: this.#failures, address, addresses: this.#addresses.size };
    this.#logger.warn(details, 'wrong tokens were sent: is a caller configured wrongly, or does somebody try them?');
  }
}
