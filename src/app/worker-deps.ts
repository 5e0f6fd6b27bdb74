import type { Logger } from 'pino';
import type { WorkerMetrics } from '../admin/metrics/worker-metrics.ts';
import type { Config, LoadedConfig } from '../config/config.ts';
import type { Clock, Random } from '../core/clock.ts';

/** Everything from outside that the worker is built from. */
export interface WorkerDeps {
  readonly config: Config;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly random: Random;
  readonly version: string;
  readonly pid: number;
  /** Aborts when the worker is asked to stop: a start that waits for space on the disk ends. */
  readonly stopping?: AbortSignal;
  /** Reads the configuration that `config` came from again. Absent: the worker refuses a reload. */
  readonly reading?: Pick<LoadedConfig, 'values' | 'digests'> & { readonly load: () => LoadedConfig };
}

/** The same, with what every part reports its events to. */
export interface PartDeps extends WorkerDeps {
  readonly metrics: WorkerMetrics;
}

/** The configuration in use. A reload replaces it: read it at each use. */
export interface CurrentConfig {
  config: Config;
}
