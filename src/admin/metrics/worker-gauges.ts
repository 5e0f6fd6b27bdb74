import { Counter, Gauge, type Registry } from '@prometheus-io/client';
import { entryStates } from '../../core/entry/states.ts';
import type { Config } from '../../config/config.ts';
import type { Clock } from '../../core/clock.ts';
import { attentionKinds } from '../../store/read/attention.ts';
import {
  upkeepTasks,
  type UpkeepResult,
  type UpkeepTask,
} from '../../store/sqlite/upkeep-results.ts';
import { newestBackupMs } from '../../store/sqlite/backup.ts';
import type { ReadOnlyStore } from '../../store/store.ts';

import type { ApiClock } from '../../buying/proofs/api-clock.ts';
import type { BudgetGate } from '../../buying/budget/budget-gate.ts';
import {
  type CheckStatus,
  type HealthCheck,
  type HealthServer,
  runChecks,
} from '../health-server.ts';
import {
  callerRefusals,
  oneOf,
  other,
  pauseReasons,
  scopeKindOf,
  scopeKinds,
} from './metric-labels.ts';

/**
 * So many rows of the attention list, and so many results of each sink, are counted: the worker
 * does nothing else meanwhile.
 */
const mostCounted = 10_000;

export interface GaugeSources {
  readonly store: Omit<ReadOnlyStore, 'checkHealth'>;
  readonly gate: Pick<BudgetGate, 'usage' | 'rateLimitedTotal'>;
  readonly apiClock: Pick<ApiClock, 'read'>;
  readonly checks: readonly HealthCheck[];
  readonly config: () => {
    readonly disk: Pick<Config['disk'], 'minFreeBytes'>;
    readonly backup: Pick<Config['backup'], 'folder'>;
  };
  readonly sinks: () => readonly string[];
  /** They count callers that were refused before they were known. */
  readonly listeners: () => Readonly<Record<string, Pick<HealthServer, 'refusedCallers'>>>;
  /** Null: the configuration cannot be read again. */
  readonly reloader: {
    last(): { readonly succeeded: boolean; readonly succeededAtMs: number };
  } | null;
  readonly upkeep: {
    readonly results: ReadonlyMap<UpkeepTask, Pick<UpkeepResult, 'outcome' | 'doneAtMs'>>;
  };
  readonly clock: Pick<Clock, 'wallMs'>;
}

/** A value that was read, of the metric of this name. */
type Sample = readonly [metric: string, value: number, labels?: Readonly<Record<string, string>>];

/** Values that are read together. A family that cannot be read takes no other with it. */
interface Family {
  readonly name: string;
  /** By their names without `order_sync_`; a name that ends with `_total` is that of a counter. */
  readonly metrics: Readonly<Record<string, readonly [help: string, ...labels: string[]]>>;
  readonly read: (sources: GaugeSources) => readonly Sample[] | Promise<readonly Sample[]>;
}

const healthValues: Readonly<Record<CheckStatus, number>> = { pass: 0, warn: 1, fail: 2 };
const isSet = (is: boolean): number => (is ? 1 : 0);

const families: readonly Family[] = [
  {
    name: 'entries',
    metrics: {
      outbox_entries: ['Entries, by state.', 'state'],
      outbox_oldest_open_seconds: ['How long the oldest open entry has waited; 0: none is open.'],
    },
    read: ({ store: { read }, clock }) => {
      const counts = read.counts();
      const { oldestOpenAtMs } = read.backlog();
      const ageMs = oldestOpenAtMs === null ? 0 : Math.max(0, clock.wallMs() - oldestOpenAtMs);
      return [
        ...entryStates.map((state): Sample => ['outbox_entries', counts[state], { state }]),
        ['outbox_oldest_open_seconds', ageMs / 1000],
      ];
    },
  },
  {
    name: 'attention',
    metrics: {
      attention: [
        `Rows of the attention list, by kind; ${mostCounted} are counted at most.`,
        'kind',
      ],
    },
    read: ({ store: { read } }) => {
      const counts = read.attentionCounts({}, mostCounted);
      return attentionKinds.map((kind) => ['attention', counts[kind] ?? 0, { kind }]);
    },
  },
  {
    name: 'spending',
    metrics: {
      spent_today: ['What the API charged since 00:00 UTC.', 'currency'],
      refunded_today: ['Refunds since 00:00 UTC, as far as answers show them.', 'currency'],
      balance_left: ['What is left of a known balance.', 'currency'],
      balance_hours_left: [
        "How long a known balance lasts at today's pace; NaN: not known.",
        'currency',
      ],
    },
    read: ({ store: { read }, clock }) => {
      const fromMs = clock.wallMs();
      const balances = read
        .balances()
        .flatMap(({ currency, left, hoursLeft }): readonly Sample[] => [
          ['balance_left', Number(left), { currency }],
          ['balance_hours_left', hoursLeft ?? Number.NaN, { currency }],
        ]);
      const spent = read.spending({ fromMs, untilMs: fromMs + 1 });
      return spent
        .flatMap(({ currency, ...amounts }): readonly Sample[] => {
          const labels = { currency: /^[A-Z]{3}$/.test(currency) ? currency : other };
          return [
            ['spent_today', Number(amounts.spent), labels],
            ['refunded_today', Number(amounts.refunded), labels],
          ] satisfies Sample[];
        })
        .concat(balances);
    },
  },
  {
    name: 'pauses',
    metrics: {
      paused_scopes: ['Paused scopes, by kind.', 'kind'],
      ready_entries: ['Entries to send whose product and balance are not paused.'],
      submission_paused: ['Paused scopes, by reason.', 'reason'],
    },
    read: ({ store: { read } }) => {
      const { pauses, lanes } = read.queueFacts();
      const kinds = pauses.map(({ scope }) => scopeKindOf(scope));
      const reasons = pauses.map(({ reason }) => oneOf(pauseReasons, reason));
      return [
        ['ready_entries', lanes.reduce((sum, { count }) => sum + count, 0)],
        ...[...scopeKinds, other].map(
          (kind): Sample => ['paused_scopes', countOf(kinds, kind), { kind }],
        ),
        ...pauseReasons.map(
          (reason): Sample => ['submission_paused', countOf(reasons, reason), { reason }],
        ),
      ];
    },
  },
  {
    name: 'budget',
    metrics: {
      rate_limit_used: ['Held slots of the budget.', 'key', 'limit'],
      rate_limit_capacity: ['Slots of the budget.', 'key', 'limit'],
      rate_limit_wait_seconds: [
        'Time until the next slot is free; +Inf: not before a call in flight ends.',
        'key',
        'limit',
      ],
      rate_limit_back_off_seconds: ['For how long a key still backs off after a 429.', 'key'],
      rate_limited_responses_total: ['Calls that the API answered with 429.', 'key'],
    },
    read: ({ gate }) =>
      gate.usage().flatMap(({ keyName: key, backOffMs, ...limits }): readonly Sample[] => [
        ...(['orders', 'requests'] as const).flatMap((limit): readonly Sample[] => {
          const { used, capacity, freeInMs } = limits[limit];
          return [
            ['rate_limit_used', used, { key, limit }],
            ['rate_limit_capacity', capacity, { key, limit }],
            ['rate_limit_wait_seconds', Math.max(0, freeInMs) / 1000, { key, limit }],
          ];
        }),
        ['rate_limit_back_off_seconds', backOffMs / 1000, { key }],
        ['rate_limited_responses_total', gate.rateLimitedTotal(key), { key }],
      ]),
  },
  {
    name: 'results',
    metrics: {
      results_pending: [
        `Results that wait for a sink; at most ${mostCounted} are counted for each sink.`,
        'sink',
      ],
      sink_paused: ['1: this sink fails, and one result at a time is tried.', 'sink'],
    },
    read: ({ store: { read }, sinks }) => {
      const names = sinks();
      const due = read.dueResults(names, mostCounted);
      const paused = new Set(read.sinkPauses().map(({ sink }) => sink));
      return names.flatMap((sink): readonly Sample[] => [
        ['results_pending', due.get(sink) ?? 0, { sink }],
        ['sink_paused', isSet(paused.has(sink)), { sink }],
      ]);
    },
  },
  {
    name: 'disk',
    metrics: {
      db_size_bytes: ['Size of the database file.'],
      db_wal_size_bytes: ['Size of its write-ahead log.'],
      disk_free_bytes: ['Free space on the disk of the outbox.'],
      disk_min_free_bytes: ['With less free space, no new orders are accepted.'],
    },
    read: async ({ store, config }) => {
      const { databaseBytes, walBytes } = await store.fileSizes();
      return [
        ['db_size_bytes', databaseBytes],
        ['db_wal_size_bytes', walBytes],
        ['disk_free_bytes', await store.freeBytes()],
        ['disk_min_free_bytes', config().disk.minFreeBytes],
      ];
    },
  },
  {
    name: 'health',
    metrics: { health: ['The checks of /healthz: 0 pass, 1 warn, 2 fail.', 'check'] },
    read: async ({ checks }) =>
      Object.entries(await runChecks(checks)).map(([check, status]) => [
        'health',
        healthValues[status],
        { check },
      ]),
  },
  {
    name: 'clock',
    metrics: {
      clock_ahead_seconds: [
        'How far the clock of this machine is ahead of that of the API; NaN: unknown.',
      ],
    },
    read: ({ apiClock }) => [
      ['clock_ahead_seconds', (apiClock.read().aheadMs ?? Number.NaN) / 1000],
    ],
  },
  {
    name: 'config',
    metrics: {
      config_last_reload_successful: ['0: the last reload was refused.'],
      config_last_reload_success_timestamp_seconds: ['When the configuration in use was read.'],
    },
    read: ({ reloader }) => {
      if (reloader === null) return [];
      const last = reloader.last();
      return [
        ['config_last_reload_successful', isSet(last.succeeded)],
        ['config_last_reload_success_timestamp_seconds', last.succeededAtMs / 1000],
      ];
    },
  },
  {
    name: 'refusals',
    metrics: {
      refused_callers_total: [
        'Connections, bodies and webhooks that were refused because of a limit, by reason.',
        'listener',
        'reason',
      ],
    },
    read: ({ listeners }) =>
      Object.entries(listeners()).flatMap(([listener, server]) =>
        callerRefusals.map(
          (reason): Sample => [
            'refused_callers_total',
            server.refusedCallers.get(reason) ?? 0,
            { listener, reason },
          ],
        ),
      ),
  },
  {
    name: 'backup',
    metrics: {
      last_backup_timestamp_seconds: ['When the newest backup was made; 0: none.'],
      upkeep_last_success_timestamp_seconds: ['When this task was last done; 0: never.', 'task'],
      upkeep_failed: ['1: the last try of this task failed or found damage.', 'task'],
    },
    read: ({ config, upkeep: { results } }) => {
      return [
        ['last_backup_timestamp_seconds', (newestBackupMs(config().backup.folder) ?? 0) / 1000],
        ...upkeepTasks.flatMap((task): readonly Sample[] => {
          const { doneAtMs = 0, outcome = 'done' } = results.get(task) ?? {};
          return [
            ['upkeep_last_success_timestamp_seconds', (doneAtMs ?? 0) / 1000, { task }],
            ['upkeep_failed', isSet(outcome !== 'done'), { task }],
          ];
        }),
      ];
    },
  },
];

const countOf = (texts: readonly string[], text: string): number =>
  texts.filter((it) => it === text).length;

/**
 * Makes the metrics whose values are read at each scrape. Returns how they are read, which never
 * rejects.
 */
export function workerGauges(registry: Registry, sources: GaugeSources): () => Promise<void> {
  const failed = new Gauge({
    name: 'order_sync_metrics_reading_failed',
    help: '1: these values could not be read.',
    labelNames: ['reading'],
    registers: [registry],
  });
  const readings = families.map(({ name, metrics, read }) => {
    const made = new Map(
      Object.entries(metrics).map(([key, [help, ...labels]]) => [key, make(key, help, labels)]),
    );
    const forget = (isUnknown: boolean): void => {
      for (const [key, metric] of made) {
        if ((metrics[key]?.length ?? 0) > 1) metric.reset();
        // A value without labels cannot be left out, and 0 would be a statement.
        else if (isUnknown && metric instanceof Gauge) metric.set(Number.NaN);
      }
    };
    return async (): Promise<void> => {
      try {
        const samples = await read(sources);
        // A key or sink that was removed has no values any more.
        forget(false);
        for (const [key, value, labels = {}] of samples) {
          const metric = made.get(key);
          if (metric instanceof Gauge) metric.set(labels, value);
          else metric?.inc(labels, value);
        }
        failed.set({ reading: name }, 0);
      } catch {
        forget(true);
        failed.set({ reading: name }, 1);
      }
    };
  });
  return async () => void (await Promise.all(readings.map((reading) => reading())));

  function make(key: string, help: string, labelNames: string[]): Gauge<string> | Counter<string> {
    const options = { name: `order_sync_${key}`, help, labelNames, registers: [registry] };
    return key.endsWith('_total') ? new Counter(options) : new Gauge(options);
  }
}
