import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { SystemClock } from '../../src/ops/system-clock.ts';
import { runHere } from '../cli/installation.ts';
import {
  Installation,
  projectRoot,
  type InstallationOptions,
  type WorkerProcess,
} from './worker-process.ts';
import { FakeApi, type FakeApiOptions } from './fake-api.ts';

/** One line of an order. */
export interface AskedLine {
  readonly variant?: string;
  readonly plan?: string;
  readonly quantity?: number;
  readonly currency?: string;
  readonly fallback?: string;
  readonly partial?: boolean;
  /** Its deadline, ISO 8601. */
  readonly notAfter?: string;
}

/**
 * How much shorter every time of a test is than in production. The window, the in-flight window and
 * the retry delays are shortened alike, so that a test of ten seconds shows what happens in
 * minutes.
 */
export const timeScale = 1 / 60;

/** The limits of Spec 8 in a window of one second, for the worker and for the API. */
export const shortWindow = { windowMs: 1000, requests: 60, orders: 20 };

const offsetFile = (installation: Installation): string =>
  join(installation.folder, 'clock-offset');

/** The command that runs a worker whose wall clock a test can set. */
function steppedClock(installation: Installation, offsetMs: number): readonly string[] {
  const file = offsetFile(installation);
  writeFileSync(file, String(offsetMs));
  const module = join(projectRoot, 'test/support/stepped-clock.ts');
  return ['/usr/bin/env', `CLOCK_OFFSET_FILE=${file}`, `NODE_OPTIONS=--import=${module}`];
}

/** An NDJSON file of orders of one line each, named `<name>-<number>`. */
export function ordersOf(name: string, count: number, line: AskedLine): string {
  const { variant, plan, quantity = 1, currency = 'USD', fallback, partial, notAfter } = line;
  const product =
    plan === undefined ? { type: 'gift_card_order', variant } : { type: 'esim_order', plan };
  const orders = Array.from({ length: count }, (_, index) =>
    JSON.stringify({
      source: 'shop',
      order_id: `${name}-${index + 1}`,
      currency,
      rules: { fallback_currency: fallback, partial: partial || undefined },
      not_after: notAfter,
      lines: [{ line_id: '1', ...product, quantity }],
    }),
  );
  return `${orders.join('\n')}\n`;
}

/** A worker process, and an API that a test can make sick. */
export class WorkerWithFakeApi {
  readonly api: FakeApi;
  readonly installation: Installation;
  readonly worker: WorkerProcess;
  #files = 0;

  private constructor(api: FakeApi, installation: Installation, worker: WorkerProcess) {
    this.api = api;
    this.installation = installation;
    this.worker = worker;
  }

  /** Starts both; they end with the test. */
  static async open(
    apiOptions: FakeApiOptions,
    options: InstallationOptions = {},
    { clockOffsetMs, basePath = '' }: { clockOffsetMs?: number; basePath?: string } = {},
  ): Promise<WorkerWithFakeApi> {
    const { windowMs, requests, orders } = shortWindow;
    const api = await FakeApi.open({ limits: shortWindow, ...apiOptions });
    const installation = await Installation.open({
      api: api.url + basePath,
      limits: { window_ms: windowMs, requests, orders, transit_ms: 20 },
      timeoutMs: 1500,
      timeScale,
      ...options,
      submit: { in_flight_window_ms: 500, ...options.submit },
    });
    onTestFinished(() => installation.close());
    const worker = installation.start(
      clockOffsetMs === undefined ? [] : steppedClock(installation, clockOffsetMs),
    );
    await worker.started();
    return new WorkerWithFakeApi(api, installation, worker);
  }

  /** Sets the wall clock of a worker that was opened with one of its own. */
  setClock(offsetMs: number): void {
    // The worker must never read a part of it.
    const file = offsetFile(this.installation);
    writeFileSync(`${file}.tmp`, String(offsetMs));
    renameSync(`${file}.tmp`, file);
  }

  /** Hands over orders of one line each, named `<name>-<number>`. */
  order(name: string, count: number, line: AskedLine): void {
    this.#files += 1;
    this.installation.drop(`${this.#files}-${name}.ndjson`, ordersOf(name, count, line));
  }

  /** Buys one order of this product, which proves the connector of its family. */
  async prove(line: AskedLine): Promise<void> {
    this.order('first', 1, line);
    await this.untilState('first', 'fulfilled', 1);
  }

  /** How many entries of the orders with this name are in each state. */
  states(name: string): Record<string, number> {
    const rows = this.installation.query<{ state: string; n: number }>(
      `SELECT state, count(*) AS n FROM outbox WHERE order_id LIKE '${name}-%' GROUP BY state`,
    );
    return Object.fromEntries(rows.map(({ state, n }) => [state, n]));
  }

  /** The reference of an order of one line. */
  referenceOf(orderId: string): string {
    const rows = this.installation.query<{ order_id: string; reference: string }>(
      'SELECT * FROM outbox',
    );
    return rows.find((row) => row.order_id === orderId)?.reference ?? '';
  }

  /** Runs a command of the command line and reads its JSON. */
  async ask(...argv: string[]): Promise<string> {
    const { configFile } = this.installation;
    const { stdout } = await runHere(
      [...argv, '--json', '--config', configFile],
      new SystemClock(),
    );
    return stdout;
  }

  /** What `/healthz` answers, as text. */
  async health(): Promise<{ status: string; text: string }> {
    const text = await this.ask('health');
    const { status }: { status: string } = JSON.parse(text);
    return { status, text };
  }

  /** The scopes that `queue status` shows as paused, with their reasons, as `scope: reason`. */
  async pauses(): Promise<readonly string[]> {
    const { pauses }: { pauses: { scope: string; reason: string }[] } = JSON.parse(
      await this.ask('queue', 'status'),
    );
    return pauses.map(({ scope, reason }) => `${scope}: ${reason}`).toSorted();
  }

  /**
   * Resolves once it holds. Rejects, with the state of the outbox, when it does not come true in
   * time.
   */
  async until(holds: () => boolean | Promise<boolean>, timeoutMs = 55_000): Promise<void> {
    const deadline = performance.now() + timeoutMs;
    while (!(await holds())) {
      if (performance.now() > deadline) throw new Error(await this.#late(timeoutMs));
      await delay(20);
    }
  }

  /** Resolves once so many orders with this name are in this state. */
  untilState(name: string, state: string, count: number, timeoutMs?: number): Promise<void> {
    return this.until(() => this.states(name)[state] === count, timeoutMs);
  }

  /** Resolves once this scope is paused, and for this reason if one is given. */
  untilPaused(scope: string, reason = '', timeoutMs?: number): Promise<void> {
    const start = `${scope}: ${reason}`;
    return this.until(
      async () => (await this.pauses()).some((pause) => pause.startsWith(start)),
      timeoutMs,
    );
  }

  /** What an operator would look at first. */
  async #late(timeoutMs: number): Promise<string> {
    const { installation } = this;
    const found = JSON.stringify({
      states: installation.query(
        "SELECT substr(order_id, 1, instr(order_id, '-') - 1) AS name, state, count(*) AS n FROM outbox GROUP BY 1, 2",
      ),
      outcomes: installation.query(
        'SELECT purpose, outcome, count(*) AS n FROM attempt_log GROUP BY purpose, outcome',
      ),
      pauses: await this.pauses(),
      calls: this.api.calls.length,
      stderr: this.worker.stderr,
    });
    return `it did not come true in ${timeoutMs} ms: ${found}`;
  }
}
