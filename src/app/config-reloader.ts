import type { Logger } from 'pino';
import type { Config, LoadedConfig } from '../config/config.ts';
import { planReload, readSteadily, type ConfigInUse, type ReloadReport } from '../config/reload.ts';

export interface ReloadDeps {
  readonly inUse: ConfigInUse;
  /** Reads and checks the whole configuration anew. Throws CONFIG_INVALID with every mistake. */
  readonly load: () => LoadedConfig;
  /** Makes ready whatever can fail, and returns what puts it to use. Throws, and nothing has changed. */
  readonly prepare: (config: Config) => Promise<() => Promise<void>>;
  readonly logger: Logger;
}

/**
 * Reads the configuration again while the worker runs. All of a change is taken up, or nothing: what is invalid is
 * refused with the messages of `check-config`, and the configuration in use stays.
 */
export class ConfigReloader {
  readonly #deps: ReloadDeps;
  #inUse: ConfigInUse;
  #refused = false;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(deps: ReloadDeps) {
    this.#deps = deps;
    this.#inUse = deps.inUse;
  }

  /** The configuration in use. */
  get config(): Config {
    return this.#inUse.config;
  }

  /** `warn` after a reload that was refused, until one is not. */
  health(): 'pass' | 'warn' {
    return this.#refused ? 'warn' : 'pass';
  }

  /** One at a time. @throws OrderSyncError CONFIG_INVALID when it is refused */
  reload(asked: string): Promise<ReloadReport> {
    const turn = this.#turn.then(() => this.#reload(asked));
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  async #reload(asked: string): Promise<ReloadReport> {
    const { load, prepare, logger } = this.#deps;
    try {
      const next = readSteadily(load);
      const plan = planReload(this.#inUse, next);
      const { applied, needRestart, config, digests } = plan;
      if (applied.length > 0) await (await prepare(config))();
      this.#inUse = { config, digests };
      this.#refused = false;
      for (const warning of next.warnings) logger.warn(warning);
      const line = { asked, applied, need_restart: needRestart };
      if (needRestart.length === 0) logger.info(line, applied.length === 0 ? 'reloaded: nothing changed' : 'reloaded');
      else logger.warn(line, 'reloaded; what is named in need_restart stays as it was until the worker is restarted');
      return { applied, needRestart, warnings: next.warnings };
    } catch (error) {
      this.#refused = true;
      logger.error({ asked, err: error }, 'the reload was refused: the configuration in use stays');
      throw error;
    }
  }
}
