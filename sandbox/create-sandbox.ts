import { once } from 'node:events';
import type { Server } from 'node:http';
import { resolve } from 'node:path';
import { Hono } from 'hono';
import * as z from 'zod';
import { FaultSelection } from './faults/fault-selection.ts';
import { addApiRoutes } from './http/api-routes.ts';
import { adminRoutes } from './http/operator-routes.ts';
import { createHttpServer, listen, OpenCalls, type Web } from './http/server.ts';
import type { SandboxLedger } from './operator/ledger.ts';
import { Operator } from './operator/operator.ts';
import { refusal, toResponse } from './orders/call.ts';
import { readCatalogue, shippedCatalogue } from './orders/catalogue.ts';
import { sandboxState } from './orders/sandbox-state.ts';
import {
  type SandboxConfig,
  sandboxConfigSchema,
  type SandboxSettings,
} from './settings/config.ts';
import { Committer } from './storage/committer.ts';
import { type Database, openDatabase } from './storage/database.ts';
import { SandboxClock, steadyTime, type TimeSource } from './values/clock.ts';

type LogLine = {
  level: 'debug' | 'info' | 'warn' | 'error';
  msg: string;
  [detail: string]: unknown;
};

export type SandboxOptions = {
  /** `host:port`; port 0 takes a free port. Default 127.0.0.1:0. */
  listen?: string;
  /** The SQLite file; created when it is missing. */
  database: string;
  /** All other settings; each has a default. */
  config?: SandboxConfig;
  /** The folder that relative paths of the config start from. Default: the working directory. */
  configDir?: string;
  /** Determines delays, faults and delivered codes. Default 1. */
  seed?: number;
  /** Empties the database first. */
  reset?: boolean;
  log?: (line: LogLine) => void;
  /** Where time comes from. Default: steady wall time. */
  time?: TimeSource;
};

export type Sandbox = {
  /** The base address, without a slash at the end. */
  url: string;
  /** Orders, charges and counted calls so far. Throws when the sandbox is closed. */
  ledger(): SandboxLedger;
  /**
   * Runs a command of the operator in a transaction: the same commands as the routes below
   * /__sandbox/.
   */
  operate<T>(command: (operator: Operator) => T): Promise<T>;
  /**
   * Stops listening, closes the open connections and the database. May be called more than once.
   */
  close(): Promise<void>;
};

/**
 * Starts the Wholesale Ordering API on this machine, with its own database.
 * Throws when the config or the catalogue is not valid, or when the address is in use.
 */
export async function createSandbox(options: SandboxOptions): Promise<Sandbox> {
  const parsed = sandboxConfigSchema.safeParse(options.config ?? {});
  if (!parsed.success)
    throw new Error(`the config of the sandbox is not valid:\n${z.prettifyError(parsed.error)}`);
  const database = openDatabase(options.database, parsed.data.durability);
  const { log = () => {} } = options;
  let server: Server | undefined;
  try {
    const { app, committer, openCalls, operator } = await createParts(
      options,
      parsed.data,
      database,
    );
    const listening = createHttpServer(app, openCalls);
    server = listening;
    const url = await listen(listening, options.listen ?? '127.0.0.1:0');
    log({ level: 'info', msg: 'sandbox listening', url, database: options.database });
    const close = async (): Promise<void> => {
      const closed = once(listening, 'close');
      listening.close();
      listening.closeAllConnections();
      await Promise.all([closed, openCalls.end()]);
      committer.flush();
      database.close();
      log({ level: 'info', msg: 'sandbox closed', url });
    };
    let closing: Promise<void> | undefined;
    return {
      url,
      ledger: () => operator.ledger(),
      operate: (command) => committer.run(() => command(operator)),
      close: () => (closing ??= close()),
    };
  } catch (error) {
    server?.close();
    database.close();
    throw error;
  }
}

async function createParts(options: SandboxOptions, settings: SandboxSettings, database: Database) {
  const { configDir = '.', seed = 1, log = () => {} } = options;
  const catalogueFile =
    settings.catalogue === undefined ? shippedCatalogue : resolve(configDir, settings.catalogue);
  const [offset] = database.all<{ value: string }>(
    "SELECT value FROM meta WHERE name = 'clock_offset_ms'",
  );
  const clock = new SandboxClock(options.time ?? steadyTime, Number(offset?.value ?? 0));
  const state = sandboxState({
    settings,
    catalogue: readCatalogue(catalogueFile),
    database,
    clock,
    seed,
  });
  const faults = new FaultSelection(seed, settings.faults);
  const committer = new Committer(database);
  const operator = new Operator(state, faults);
  await committer.run(() => (options.reset === true ? operator.reset() : operator.seed()));
  operator.restartLimits();
  const openCalls = new OpenCalls();
  const app = new Hono<Web>();
  app.onError((error) => {
    log({
      level: 'error',
      msg: 'a call failed inside the sandbox',
      error: error.stack ?? String(error),
    });
    return toResponse(
      refusal(503, 'api_disabled', 'The sandbox could not do its work; its log says why.'),
    );
  });
  app.route('/__sandbox', adminRoutes(operator, committer, settings.admin_token));
  addApiRoutes(app, { state, committer, faults, openCalls });
  return { app, committer, openCalls, operator };
}
