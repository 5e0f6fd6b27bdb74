import { onTestFinished } from 'vitest';
import { FakeApi, type FakeApiOptions } from '../../support/fake-api.ts';
import {
  type AskedLine,
  ordersOf,
  shortWindow,
  timeScale,
} from '../../support/worker-with-fake-api.ts';
import { Receiver, takes } from '../../support/receiver.ts';
import {
  Installation,
  type InstallationOptions,
  type WorkerProcess,
} from '../../support/worker-process.ts';

export interface SpoiltWorker {
  readonly installation: Installation;
  readonly receiver: Receiver;
  readonly worker: WorkerProcess;
}

/**
 * Options of the worker: the window of the budget and all delays are a 60th of those of production.
 */
export const shortTimes: InstallationOptions = {
  limits: {
    window_ms: shortWindow.windowMs,
    requests: shortWindow.requests,
    orders: shortWindow.orders,
    transit_ms: 20,
  },
  timeoutMs: 9000,
  timeScale,
  submit: { in_flight_window_ms: 500 },
};

/** Starts the worker of an installation, with an endpoint for its alerts. */
export async function startWith(
  installation: Installation,
  // oxlint-disable-next-line typescript/no-explicit-any -- any part of a config file
  configure: (config: any) => void = () => undefined,
): Promise<SpoiltWorker> {
  const receiver = await Receiver.open(takes);
  onTestFinished(() => receiver.close());
  installation.configure((config) => {
    config.alerts = [{ name: 'ops', url: receiver.url }];
    configure(config);
  });
  const worker = installation.start();
  await worker.started();
  return { installation, receiver, worker };
}

/** A worker with the sandbox, or with another API. */
export async function startSpoilt(
  options: InstallationOptions,
  configure?: Parameters<typeof startWith>[1],
): Promise<SpoiltWorker> {
  const installation = await Installation.open({ ...shortTimes, ...options });
  onTestFinished(() => installation.close());
  return await startWith(installation, configure);
}

export async function openApi(options: FakeApiOptions = {}): Promise<FakeApi> {
  const api = await FakeApi.open({ limits: shortWindow, ...options });
  return api;
}

/** Resolves once so many entries of the orders with this name have this state. */
export async function untilState(
  place: Installation,
  name: string,
  state: string,
  count = 1,
): Promise<void> {
  const sql = `SELECT count(*) AS n FROM outbox WHERE order_id LIKE '${name}-%' AND state = '${state}'`;
  while ((place.query<{ n: number }>(sql)[0]?.n ?? 0) < count)
    await new Promise((resolve) => void setTimeout(resolve, 50));
}

/** Hands over orders of one line each, named `<name>-<number>`. */
export function order(place: Installation, name: string, line: AskedLine, count = 1): void {
  place.drop(`${name}.ndjson`, ordersOf(name, count, line));
}
