import { onTestFinished } from 'vitest';
import { WorkerMetrics } from '../../src/admin/metrics/worker-metrics.ts';
import type { GaugeSources } from '../../src/admin/metrics/worker-gauges.ts';
import { Outbox } from './outbox.ts';

/** A sample of the text format: its value by `name{labels}`. */
export function samplesOf(text: string): ReadonlyMap<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const space = line.lastIndexOf(' ');
      return [line.slice(0, space), Number(line.slice(space + 1).replace('+Inf', 'Infinity'))];
    }),
  );
}

/**
 * The metrics of an outbox on a real file, with plain values for what a worker would measure around
 * it.
 */
export async function measuredOutbox(changes: Partial<GaugeSources> = {}) {
  const outbox = await Outbox.open();
  onTestFinished(() => outbox.close());
  const time = { steadyMs: 0 };
  const metrics = new WorkerMetrics({
    version: '1.2.3',
    node: 'v24',
    sources: () => ['shop1', 'folder'],
    clock: { steadyMs: () => time.steadyMs },
  });
  metrics.events.knowSinks(['folder']);
  const limit = { used: 3, capacity: 20, freeInMs: 1500 };
  metrics.watch({
    store: {
      read: outbox.store.read,
      fileSizes: () => outbox.store.fileSizes(),
      freeBytes: async () => 1000,
    },
    gate: {
      usage: () => [
        {
          keyName: 'main',
          isPaused: false,
          orders: limit,
          requests: limit,
          backOffMs: 0,
          spendsPerMinute: 20,
          throttle: null,
        },
      ],
      rateLimitedTotal: () => 2,
    },
    apiClock: { read: () => ({ verdict: 'unknown', aheadMs: null }) },
    checks: [
      { name: 'database', check: () => 'pass' },
      { name: 'submission', check: () => 'warn' },
      { name: 'disk', check: () => 'fail' },
    ],
    config: () => ({ disk: { minFreeBytes: 500 }, backup: { folder: '/nowhere' } }),
    sinks: () => ['folder'],
    listeners: () => ({
      admin: { refusedCallers: new Map() },
      webhook: { refusedCallers: new Map([['connections', 4]]) },
    }),
    reloader: { last: () => ({ succeeded: true, succeededAtMs: 5000 }) },
    upkeep: { results: new Map([['check', { outcome: 'damaged', doneAtMs: 3000 }]]) },
    clock: { wallMs: () => 61_000 },
    ...changes,
  });
  return { outbox, metrics, time };
}
