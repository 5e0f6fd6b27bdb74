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

/** The metrics of an outbox on a real file, with plain values for what a worker would measure around it. */
export async function measuredOutbox(changes: Partial<GaugeSources> = {}) {
  const outbox = await Outbox.open();
  onTestFinished(() => outbox.close());
  const time = { monoMs: 0 };
  const metrics = new WorkerMetrics({
    version: '1.2.3',
    node: 'v24',
    sources: () => ['shop1', 'folder'],
    clock: { monoMs: () => time.monoMs },
  });
  metrics.events.knowSinks(['folder']);
  const limit = { used: 3, capacity: 20, freeInMs: 1500 };
  metrics.watch({
    read: outbox.store.read,
    pauses: () => outbox.store.submission.pauses.all(),
    checks: async () => ({ database: 'pass', submission: 'warn', disk: 'fail' }),
    budget: () => [{ keyName: 'main', orders: limit, requests: limit, backOffMs: 0, rateLimited: 2 }],
    sinks: () => ['folder'],
    disk: async () => ({ ...(await outbox.store.fileSizes()), freeBytes: 1000, minFreeBytes: 500 }),
    clockAheadMs: () => null,
    refusedCallers: () => ({ admin: new Map(), webhook: new Map([['connections', 4]]) }),
    reload: () => ({ succeeded: true, succeededAtMs: 5000 }),
    upkeep: () => new Map([['check', { outcome: 'damaged', doneAtMs: 3000 }]] as const),
    lastBackupMs: () => 7000,
    nowMs: () => 61_000,
    ...changes,
  });
  return { outbox, metrics, time };
}
