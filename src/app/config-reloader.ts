import type { Logger } from 'pino';
import type { Config, LoadedConfig } from '../config/config.ts';
import { planReload, readUntilStable, type ConfigInUse, type ReloadReport } from '../config/reload-plan.ts';

interface ReloadDeps {
  readonly inUse: ConfigInUse;
  /** Reads and checks the whole configuration. Throws CONFIG_INVALID with every mistake. */
  readonly load: () => LoadedConfig;
  /** Prepares everything that can fail, and returns the function that applies the change. Throws without any change. */
  readonly prepare: (config: Config) => Promise<() => Promise<void>>;
  readonly logger: Logger;
  readonly nowMs: () => number;
}

/**
 * Reads the configuration again while the worker runs. A change is applied as a whole or not at all: an invalid
 * configuration is refused with the messages of `check-config`, and the one in use stays.
 */
export class ConfigReloader {
  readonly #deps: ReloadDeps;
  #inUse: ConfigInUse;
  #refused = false;
  #succeededAtMs: number;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(deps: ReloadDeps) {
    this.#deps = deps;
    this.#inUse = deps.inUse;
    this.#succeededAtMs = deps.nowMs();
  }

  /** Whether the last reload succeeded, and when one did last; at first, when the worker started. */
  last(): { readonly succeeded: boolean; readonly succeededAtMs: number } {
    return { succeeded: !this.#refused, succeededAtMs: this.#succeededAtMs };
  }

  /** `warn` after a refused reload, until the next reload succeeds. */
  health(): 'pass' | 'warn' {
    return this.#refused ? 'warn' : 'pass';
  }

  get inUse(): ConfigInUse {
    return this.#inUse;
  }

  /**
   * Waits for a reload that is under way.
   * @param asked who asked for it, for the log
   * @throws OrderSyncError CONFIG_INVALID when the new configuration is refused
   */
  reload(asked: string): Promise<ReloadReport> {
    const turn = this.#turn.then(() => this.#reload(asked));
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  async #reload(asked: string): Promise<ReloadReport> {
    const { load, prepare, logger, nowMs } = this.#deps;
    try {
      const next = readUntilStable(load);
      const plan = planReload(this.#inUse, next);
      const { applied, needRestart, config, values, digests } = plan;
      if (applied.length > 0) await (await prepare(config))();
      this.#inUse = { config, values, digests };
      this.#refused = false;
      this.#succeededAtMs = nowMs();
      for (const warning of next.warnings) logger.warn(warning);
      const line = { asked, applied, need_restart: needRestart };
      if (needRestart.length === 0) logger.info(line, applied.length === 0 ? 'reloaded: nothing changed' : 'reloaded');
      else logger.warn(line, 'reloaded; the keys in need_restart take effect after a restart');
      return { applied, needRestart, warnings: next.warnings };
    } catch (error) {
      this.#refused = true;
      logger.error({ asked, err: error }, 'reload refused; the configuration in use stays');
      throw error;
    }
  }
}
