import { Counter, Gauge, type Registry } from '@prometheus-io/client';
import { entryStates } from '../../core/entry/states.ts';
import type { OutboxReader } from '../../store/read/outbox-reader.ts';
import { attentionKinds } from '../../store/read/attention.ts';
import { upkeepTasks, type UpkeepResult, type UpkeepTask } from '../../store/sqlite/upkeep-results.ts';
import type { CheckStatus } from '../health-server.ts';
import { callerRefusals, oneOf, other, pauseReasons, scopeKindOf, scopeKinds } from './metric-labels.ts';

/** So many rows of the attention list, and so many results of each sink, are counted: the worker does nothing else meanwhile. */
const mostCounted = 10_000;

interface LimitUsage {
  readonly used: number;
  readonly capacity: number;
  readonly freeInMs: number;
}

/** Where the values come from at each scrape. Times are in ms. */
export interface GaugeSources {
  readonly read: Pick<OutboxReader, 'counts' | 'backlog' | 'attentionCounts' | 'dueResults' | 'sinkPauses'>;
  readonly pauses: () => Promise<readonly { readonly scope: string; readonly reason: string }[]>;
  readonly checks: () => Promise<Readonly<Record<string, CheckStatus>>>;
  readonly budget: () => readonly {
    readonly keyName: string;
    readonly orders: LimitUsage;
    readonly requests: LimitUsage;
    readonly backOffMs: number;
    readonly rateLimited: number;
  }[];
  readonly sinks: () => readonly string[];
  readonly disk: () => Promise<{
    readonly databaseBytes: number;
    readonly walBytes: number;
    readonly freeBytes: number;
    readonly minFreeBytes: number;
  }>;
  /** How far this machine's clock is ahead of the API's; null: not known. */
  readonly clockAheadMs: () => number | null;
  /** Callers that were refused before they were known, by listener and reason. */
  readonly refusedCallers: () => Readonly<Record<string, ReadonlyMap<string, number>>>;
  /** Null: the configuration cannot be read again. */
  readonly reload: () => { readonly succeeded: boolean; readonly succeededAtMs: number } | null;
  /** How each task of the upkeep ended the last time. */
  readonly upkeep: () => ReadonlyMap<UpkeepTask, Pick<UpkeepResult, 'outcome' | 'doneAtMs'>>;
  /** When the newest backup was made; null: there is none. */
  readonly lastBackupMs: () => number | null;
  readonly nowMs: () => number;
}

/** One family of values. It is read by itself: one that cannot be read takes no other with it. */
interface Reading {
  readonly name: string;
  /** Sets the values, or throws. */
  readonly read: () => void | Promise<void>;
  /** Forgets the values: an old one must not look like a new one. */
  readonly reset: () => void;
}

/** The values that are read when somebody scrapes them. */
export class WorkerGauges {
  readonly #registry: Registry;
  readonly #sources: GaugeSources;
  readonly #readings: readonly Reading[];
  readonly #failed: Gauge<'reading'>;

  constructor(registry: Registry, sources: GaugeSources) {
    this.#registry = registry;
    this.#sources = sources;
    this.#failed = this.#gauge('metrics_reading_failed', '1: these values could not be read, and are missing or NaN.', [
      'reading',
    ]);
    this.#readings = [
      this.#entries(),
      this.#attention(),
      this.#pauses(),
      this.#budget(),
      this.#results(),
      this.#disk(),
      this.#health(),
      this.#clock(),
      this.#config(),
      this.#refusals(),
      this.#backup(),
    ];
  }

  /** Reads everything. Never rejects. */
  async read(): Promise<void> {
    await Promise.all(
      this.#readings.map(async ({ name, read, reset }) => {
        try {
          await read();
          this.#failed.set({ reading: name }, 0);
        } catch {
          reset();
          this.#failed.set({ reading: name }, 1);
        }
      }),
    );
  }

  #gauge<Label extends string>(name: string, help: string, labelNames: readonly Label[] = []): Gauge<Label> {
    return new Gauge({ name: `order_sync_${name}`, help, labelNames: [...labelNames], registers: [this.#registry] });
  }

  #entries(): Reading {
    const { read, nowMs } = this.#sources;
    const entries = this.#gauge('outbox_entries', 'Entries of the outbox, by state.', ['state']);
    const oldest = this.#gauge(
      'outbox_oldest_open_seconds',
      'How long the oldest entry that is still open has waited; 0: none is open.',
    );
    return {
      name: 'entries',
      read: () => {
        const counts = read.counts();
        for (const state of entryStates) entries.set({ state }, counts[state]);
        const { oldestOpenMs } = read.backlog();
        oldest.set(oldestOpenMs === null ? 0 : Math.max(0, nowMs() - oldestOpenMs) / 1000);
      },
      reset: () => {
        entries.reset();
        forget(oldest);
      },
    };
  }

  #attention(): Reading {
    const rows = this.#gauge('attention', `Rows of the attention list, by kind; ${mostCounted} are counted at most.`, [
      'kind',
    ]);
    return {
      name: 'attention',
      read: () => {
        const counts = this.#sources.read.attentionCounts({}, mostCounted);
        for (const kind of attentionKinds) rows.set({ kind }, counts[kind] ?? 0);
      },
      reset: () => rows.reset(),
    };
  }

  #pauses(): Reading {
    const scopes = this.#gauge('paused_scopes', 'Paused scopes, by kind.', ['kind']);
    const reasons = this.#gauge('submission_paused', 'Paused scopes, by the reason of the pause.', ['reason']);
    return {
      name: 'pauses',
      read: async () => {
        const pauses = await this.#sources.pauses();
        for (const kind of [...scopeKinds, other]) scopes.set({ kind }, 0);
        for (const reason of pauseReasons) reasons.set({ reason }, 0);
        for (const { scope, reason } of pauses) {
          scopes.inc({ kind: scopeKindOf(scope) });
          reasons.inc({ reason: oneOf(pauseReasons, reason) });
        }
      },
      reset: () => [scopes, reasons].forEach((gauge) => gauge.reset()),
    };
  }

  #budget(): Reading {
    const labels = ['key', 'limit'] as const;
    const used = this.#gauge('rate_limit_used', 'Slots of the budget that are held.', labels);
    const capacity = this.#gauge('rate_limit_capacity', 'Slots that the budget has.', labels);
    const wait = this.#gauge(
      'rate_limit_wait_seconds',
      'How long until the next slot is free; +Inf: after a call in flight.',
      labels,
    );
    const backOff = this.#gauge('rate_limit_back_off_seconds', 'For how long a key still backs off after a 429.', [
      'key',
    ]);
    const limited = new Counter({
      name: 'order_sync_rate_limited_responses_total',
      help: 'Calls that the API answered with 429.',
      labelNames: ['key'],
      registers: [this.#registry],
    });
    const all = [used, capacity, wait, backOff, limited];
    return {
      name: 'budget',
      read: () => {
        // A key that was removed has no values any more.
        for (const metric of all) metric.reset();
        for (const { keyName: key, backOffMs, rateLimited, ...limits } of this.#sources.budget()) {
          for (const limit of ['orders', 'requests'] as const) {
            used.set({ key, limit }, limits[limit].used);
            capacity.set({ key, limit }, limits[limit].capacity);
            wait.set({ key, limit }, Math.max(0, limits[limit].freeInMs) / 1000);
          }
          backOff.set({ key }, backOffMs / 1000);
          limited.inc({ key }, rateLimited);
        }
      },
      reset: () => all.forEach((metric) => metric.reset()),
    };
  }

  #results(): Reading {
    const pending = this.#gauge(
      'results_pending',
      `Results that wait for a sink; ${mostCounted} of each are counted at most.`,
      ['sink'],
    );
    const paused = this.#gauge('sink_paused', '1: this sink fails, so one result at a time is tried.', ['sink']);
    return {
      name: 'results',
      read: () => {
        const { read, sinks } = this.#sources;
        const names = sinks();
        const due = read.dueResults(names, mostCounted);
        const pausedNames = new Set(read.sinkPauses().map(({ sink }) => sink));
        for (const gauge of [pending, paused]) gauge.reset();
        for (const sink of names) {
          pending.set({ sink }, due.get(sink) ?? 0);
          paused.set({ sink }, pausedNames.has(sink) ? 1 : 0);
        }
      },
      reset: () => [pending, paused].forEach((gauge) => gauge.reset()),
    };
  }

  #disk(): Reading {
    const database = this.#gauge('db_size_bytes', 'Size of the database file.');
    const wal = this.#gauge('db_wal_size_bytes', 'Size of its write-ahead log.');
    const free = this.#gauge('disk_free_bytes', 'Free space on the disk of the outbox.');
    const needed = this.#gauge('disk_min_free_bytes', 'With less free space, no new orders are taken in.');
    return {
      name: 'disk',
      read: async () => {
        const { databaseBytes, walBytes, freeBytes, minFreeBytes } = await this.#sources.disk();
        database.set(databaseBytes);
        wal.set(walBytes);
        free.set(freeBytes);
        needed.set(minFreeBytes);
      },
      reset: () => forget(database, wal, free, needed),
    };
  }

  #health(): Reading {
    const health = this.#gauge('health', 'The checks of /healthz: 0 pass, 1 warn, 2 fail.', ['check']);
    const values: Readonly<Record<CheckStatus, number>> = { pass: 0, warn: 1, fail: 2 };
    return {
      name: 'health',
      read: async () => {
        for (const [check, status] of Object.entries(await this.#sources.checks()))
          health.set({ check }, values[status]);
      },
      reset: () => health.reset(),
    };
  }

  #clock(): Reading {
    const ahead = this.#gauge(
      'clock_ahead_seconds',
      'How far the clock of this machine is ahead of that of the API; NaN: not known.',
    );
    return {
      name: 'clock',
      read: () => {
        const aheadMs = this.#sources.clockAheadMs();
        ahead.set(aheadMs === null ? Number.NaN : aheadMs / 1000);
      },
      reset: () => forget(ahead),
    };
  }

  #config(): Reading {
    const succeeded = this.#gauge(
      'config_last_reload_successful',
      '0: the last reload was refused, and the configuration before is in use.',
    );
    const at = this.#gauge('config_last_reload_success_timestamp_seconds', 'When the configuration in use was read.');
    return {
      name: 'config',
      read: () => {
        const reload = this.#sources.reload();
        if (reload === null) return;
        succeeded.set(reload.succeeded ? 1 : 0);
        at.set(reload.succeededAtMs / 1000);
      },
      reset: () => forget(succeeded, at),
    };
  }

  #refusals(): Reading {
    const refused = new Counter({
      name: 'order_sync_refused_callers_total',
      help: 'Connections and bodies that were refused because of a limit, by listener and reason.',
      labelNames: ['listener', 'reason'],
      registers: [this.#registry],
    });
    return {
      name: 'refusals',
      read: () => {
        refused.reset();
        for (const [listener, totals] of Object.entries(this.#sources.refusedCallers())) {
          for (const reason of callerRefusals) refused.inc({ listener, reason }, totals.get(reason) ?? 0);
        }
      },
      reset: () => refused.reset(),
    };
  }

  #backup(): Reading {
    const last = this.#gauge('last_backup_timestamp_seconds', 'When the newest backup was made; 0: there is none.');
    const done = this.#gauge('upkeep_last_success_timestamp_seconds', 'When this task was done last; 0: never.', [
      'task',
    ]);
    const failed = this.#gauge('upkeep_failed', '1: the last try of this task failed, or found damage.', ['task']);
    return {
      name: 'backup',
      read: () => {
        last.set((this.#sources.lastBackupMs() ?? 0) / 1000);
        const results = this.#sources.upkeep();
        for (const task of upkeepTasks) {
          const result = results.get(task);
          done.set({ task }, (result?.doneAtMs ?? 0) / 1000);
          failed.set({ task }, (result?.outcome ?? 'done') === 'done' ? 0 : 1);
        }
      },
      reset: () => {
        forget(last);
        for (const gauge of [done, failed]) gauge.reset();
      },
    };
  }
}

/** A value without labels cannot be left out, and 0 would be a statement. */
function forget(...gauges: readonly Gauge[]): void {
  for (const gauge of gauges) gauge.set(Number.NaN);
}
