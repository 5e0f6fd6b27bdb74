import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { resolve } from 'node:path';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import { HTTPException } from 'hono/http-exception';
import * as z from 'zod';
import { Accounts } from './account/accounts.ts';
import { accountRoutes } from './account/account-routes.ts';
import { adminRoutes } from './http/admin-routes.ts';
import { refusal } from './http/answers.ts';
import { addApiRoutes, respond, type Web } from './http/api-routes.ts';
import { readCatalogue, shippedCatalogue } from './orders/catalogue.ts';
import { SandboxClock, steadyTime, type TimeSource } from './clock.ts';
import { Codes } from './orders/codes.ts';
import { Committer } from './committer.ts';
import { type SandboxConfig, sandboxConfigSchema, type SandboxSettings } from './config.ts';
import { openDatabase } from './database.ts';
import { documentRoutes } from './http/document-routes.ts';
import { Esims } from './orders/esims.ts';
import { FaultSelection } from './faults/fault-selection.ts';
import type { SandboxLedger } from './account/ledger.ts';
import { Limits } from './limits/limits.ts';
import { Operator } from './account/operator.ts';
import { Orders } from './orders/orders.ts';
import { Outbox } from './account/outbox.ts';
import { Pauses } from './pauses.ts';
import { SeededStream } from './randomness.ts';
import { RequestLog } from './limits/request-log.ts';
import { Service } from './orders/service.ts';
import { answerBrokenRequests } from './http/server.ts';
import { saleState, type Shelf } from './orders/sandbox-state.ts';
import { Stock } from './orders/stock.ts';

export type LogLine = { level: 'debug' | 'info' | 'warn' | 'error'; msg: string; [detail: string]: unknown };

export type SandboxOptions = {
  /** `host:port`; port 0 takes a free one. Default 127.0.0.1:0. */
  listen?: string;
  /** The SQLite file; created when it is missing. */
  database: string;
  /** Everything else; all of it has defaults. */
  config?: SandboxConfig;
  /** The folder that relative paths of the config start from. Default: the working directory. */
  configDir?: string;
  /** Delays, faults and delivered codes follow from it. Default 1. */
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
  /** What was sold, charged and counted so far. Throws when the sandbox is closed. */
  ledger(): SandboxLedger;
  /** The same knobs as the routes below /__sandbox/. */
  operate<T>(command: (operator: Operator) => T): Promise<T>;
  /** Stops listening, drops open connections, and closes the database. May be called more than once. */
  close(): Promise<void>;
};

/**
 * Starts the Wholesale Ordering API on this machine, with its own database.
 * Throws when the config or the catalogue is not valid, or the address is taken.
 */
export async function createSandbox(options: SandboxOptions): Promise<Sandbox> {
  const settings = parseConfig(options.config ?? {});
  const folder = options.configDir ?? '.';
  const catalogueFile = settings.catalogue === undefined ? shippedCatalogue : resolve(folder, settings.catalogue);
  const seed = options.seed ?? 1;
  const log = options.log ?? (() => {});
  const catalogue = readCatalogue(catalogueFile);
  const database = openDatabase(options.database, settings.durability);
  try {
    const offset = database.prepare<[], string>("SELECT value FROM meta WHERE name = 'clock_offset_ms'").pluck().get();
    const clock = new SandboxClock(options.time ?? steadyTime, Number(offset ?? 0));
    const accounts = new Accounts(database);
    const shelf: Shelf = {
      settings,
      catalogue,
      database,
      accounts,
      orders: new Orders(database, accounts),
      codes: new Codes(database, seed),
      esims: new Esims(database, seed, settings.esims),
      stock: new Stock(database),
      limits: new Limits(settings.limits),
      delays: new SeededStream(seed, 'delays'),
      ...saleState(database, () => shelf.catalogue),
    };
    const requestLog = new RequestLog(database, settings.request_log);
    const faults = new FaultSelection(seed, settings.faults);
    const committer = new Committer(database);
    const operator = new Operator({ shelf, log: requestLog, clock, faults, catalogueFile, settings });
    await committer.run(() => (options.reset === true ? operator.reset() : operator.seed()));
    requestLog.refill(shelf.limits, clock.now());

    const pauses = new Pauses();
    const app = new Hono<Web>();
    app.onError((error) => {
      // A form of another site, an oversized one: refused by the account page's guards, not a failure.
      if (error instanceof HTTPException) return error.getResponse();
      log({ level: 'error', msg: 'a call failed inside the sandbox', error: error.stack ?? String(error) });
      return respond(refusal(503, 'api_disabled', 'The sandbox could not do its work; its log says why.'));
    });
    const outboxFile = outboxPath(settings, folder, options.database);
    const outbox = new Outbox(outboxFile, (letter) =>
      log({
        level: 'info',
        msg: `one-time code for ${letter.to}: ${letter.code}`,
        purpose: letter.purpose,
        outbox: outboxFile,
      }),
    );
    app.route('/account', accountRoutes({ shelf, committer, clock, outbox }));
    app.route('/', documentRoutes());
    app.route('/__sandbox', adminRoutes(operator, committer, settings.admin_token));
    addApiRoutes(app, {
      shelf,
      service: new Service(shelf, requestLog),
      committer,
      clock,
      faults,
      latency: { before: new SeededStream(seed, 'before'), after: new SeededStream(seed, 'after') },
      pause: (ms) => pauses.pause(ms),
    });
    const listener = listenerOf(app, pauses);
    // A request without a host, or with expectations nobody knows, gets the service's own error body too.
    const server = createServer({ requireHostHeader: false }, listener);
    server.on('checkExpectation', listener);
    answerBrokenRequests(server);
    const url = await listen(server, options.listen ?? '127.0.0.1:0');
    log({ level: 'info', msg: 'sandbox listening', url, database: options.database });

    const close = async (): Promise<void> => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await Promise.all([closed, pauses.end()]);
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
    database.close();
    throw error;
  }
}

function parseConfig(config: SandboxConfig): SandboxSettings {
  const parsed = sandboxConfigSchema.safeParse(config);
  if (!parsed.success) throw new Error(`the config of the sandbox is not valid:\n${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

/** Beside the database, unless the config says otherwise; a database in memory has no such place. */
function outboxPath(settings: SandboxSettings, folder: string, database: string): string | null {
  if (settings.outbox !== undefined) return resolve(folder, settings.outbox);
  return database === ':memory:' ? null : `${database}.outbox.jsonl`;
}

/** Requests that HTTP libraries refuse to parse still get the error body of Spec 7. */
function listenerOf(app: Hono<Web>, pauses: Pauses) {
  const handle = getRequestListener(app.fetch, {
    overrideGlobalObjects: false,
    errorHandler: () => respond(refusal(422, 'invalid_request', 'The request is malformed.')),
  });
  return (...[incoming, outgoing]: Parameters<typeof handle>): void => {
    pauses.track(handle(incoming, outgoing));
  };
}

async function listen(server: Server, address: string): Promise<string> {
  const match = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(address);
  if (match === null) throw new Error(`listen is host:port, such as 127.0.0.1:8090, not ${address}`);
  const host = match[1] ?? (match[2] === '' ? '127.0.0.1' : match[2]) ?? '127.0.0.1';
  server.listen(Number(match[3]), host);
  await once(server, 'listening');
  const bound = server.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : match[3];
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
