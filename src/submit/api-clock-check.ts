import type { Logger } from 'pino';
import type { Probe } from '../core/scopes/probe.ts';
import { Loop } from '../ops/loop.ts';
import type { ApiClock } from './api-clock.ts';
import { budgetedRead, type CallDeps } from './budgeted-read.ts';
import type { WholesalePort } from './wholesale-port.ts';

const everyMs = 1000;
/** The API is asked for its time at most this often, while it is unknown and while it differs. */
const askedEveryMs = { unknown: 10_000, wrong: 300_000 };

interface CheckDeps extends CallDeps {
  readonly wholesale: Pick<WholesalePort, 'probe'>;
  readonly apiClock: ApiClock;
  readonly logger: Logger;
}

/**
 * Says in the log when the clock of this machine is wrong, and when it is right again. While it is not right and a
 * deadline may have passed, it asks the API for its time with one small read on the budget: without other work no call would
 * show it, and the line would stay open.
 */
export class ApiClockCheck {
  readonly #deps: CheckDeps;
  readonly #loop: Loop;
  #isWrong = false;
  #askAtMono = 0;

  constructor(deps: CheckDeps) {
    this.#deps = deps;
    const round = async (signal: AbortSignal): Promise<number> => {
      this.#log();
      if (await this.#mustAsk()) await this.#ask(signal);
      return everyMs;
    };
    this.#loop = new Loop({ clock: deps.clock, round });
  }

  /** Rejects when a read could not be recorded: the worker must stop. */
  get failed(): Promise<never> {
    return this.#loop.failed;
  }

  start(): void {
    this.#loop.start();
  }

  /** May be called again. */
  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  #log(): void {
    const { apiClock, logger } = this.#deps;
    const { verdict, aheadMs } = apiClock.read();
    if (verdict === 'unknown' || (verdict === 'wrong') === this.#isWrong) return;
    this.#isWrong = verdict === 'wrong';
    const details = { ahead_ms: aheadMs };
    if (this.#isWrong) logger.warn(details, "the clock of this machine differs from the API's by more than a minute");
    else logger.info(details, "the clock of this machine and the API's agree again");
  }

  async #mustAsk(): Promise<boolean> {
    const { apiClock, clock, pauses, store } = this.#deps;
    const { verdict } = apiClock.read();
    if (verdict === 'right' || clock.monoMs() < this.#askAtMono) return false;
    // While the account is paused its probes are answered, or nothing is.
    if (pauses.isAccountPaused()) return false;
    const deadlineMs = await store.times.nextDeadlineMs();
    if (deadlineMs === null || deadlineMs > apiClock.present().latestMs) return false;
    this.#askAtMono = clock.monoMs() + askedEveryMs[verdict];
    return true;
  }

  async #ask(signal: AbortSignal): Promise<void> {
    const { wholesale } = this.#deps;
    await budgetedRead(this.#deps, {
      call: (keyValue): Promise<Probe> => wholesale.probe({ question: 'products', keyValue, signal }),
      outcomeOf: ({ outcome }) => outcome,
    });
  }
}
