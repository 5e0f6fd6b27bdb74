import { randomUUID } from 'node:crypto';
import { createServer } from 'node:net';
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { otherMounts, requireFolders } from '../app/installed-folders.ts';
import type { Config } from '../config/config.ts';
import type { ResultOf } from '../core/operator/operator-command.ts';
import { OrderSyncError } from '../core/order-sync-error.ts';
import { wrongClockMs } from '../core/time/wall-clock.ts';
import { shortDuration } from '../core/clock.ts';
import { howToOpen, howToRead } from '../ops/files.ts';
import { listen } from '../ops/listen.ts';
import { inspectDatabase, inspectDisk } from '../store/sqlite/inspect.ts';
import { requireStamp } from './checked-config.ts';
import { readOutbox } from './config-options.ts';

/** The finding of one check of `order-sync doctor`. */
export interface Finding {
  readonly check: string;
  /** `fail`: nothing can be bought like this; `warn`: an operator should look. */
  readonly status: 'pass' | 'warn' | 'fail';
  readonly message: string;
  /** The next step; null where there is none to take. */
  readonly next: string | null;
}

type ApiResult = ResultOf<'api'>;

/** `queue status` has them all. */
const mostPauses = 10;
const mebibyte = 1024 * 1024;
/** With less a busy worker soon stops. */
const tightFreeBytes = 1024 * mebibyte;

export type Found = Omit<Finding, 'check'>;

export const pass = (message: string): Found => ({ status: 'pass', message, next: null });
export const warn = (message: string, next: string): Found => ({ status: 'warn', message, next });
const fail = (message: string, next: string | null): Found => ({ status: 'fail', message, next });

/** Runs one check. An error is its finding, with its hint as the next step. */
export async function finding(check: string, run: () => Found | Promise<Found>): Promise<Finding> {
  try {
    return { check, ...(await run()) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return {
      check,
      ...fail(message, error instanceof OrderSyncError ? (error.hint ?? null) : null),
    };
  }
}

/** Whether a database can be written there: a folder of this user on a local disk. */
export function checkDataDir({ dataDir }: Config): Found {
  inspectDisk(dataDir);
  makeFolder(dataDir);
  return pass(`${dataDir} can be written and is on a local disk`);
}

/**
 * Returns whether it was made; it can be written. Closed to other users: results hold codes that
 * are as good as money.
 */
export function makeFolder(path: string): boolean {
  try {
    const isNew = mkdirSync(path, { recursive: true, mode: 0o700 }) !== undefined;
    const probe = join(path, `.order-sync-probe-${randomUUID()}`);
    writeFileSync(probe, '', { flag: 'wx', mode: 0o600 });
    rmSync(probe);
    return isNew;
  } catch (error) {
    throw new OrderSyncError('FOLDER_UNUSABLE', `The folder ${path} cannot be made or written`, {
      hint: howToOpen(path),
      cause: error,
    });
  }
}

/** Whether the folders that a shop writes and reads are there. A demo makes them at its start. */
export function checkSharedFolders(config: Config): Found {
  if (config.init === 'never') requireFolders(config, true);
  const [mount] = otherMounts(config);
  if (mount !== undefined) return fail(`${mount.key} ${mount.problem}`, 'correct intake.folders');
  const [denied] = config.intake.folders.flatMap(({ inbox }) => unreadableIn(inbox));
  if (denied !== undefined)
    return warn('the worker cannot read a file in an inbox', howToRead(denied));
  return pass('the inboxes and the folder of results exist');
}

const unreadableIn = (folder: string): readonly string[] =>
  readdirSync(folder)
    .map((name) => join(folder, name))
    .filter((path) => {
      try {
        return accessSync(path, constants.R_OK);
      } catch {
        return true;
      }
    });

export function checkDisk({ dataDir, disk }: Config): Found {
  const freeBytes = inspectDisk(dataDir);
  const message = `${Math.floor(freeBytes / mebibyte)} MiB are free`;
  if (freeBytes >= Math.max(tightFreeBytes, disk.minFreeBytes)) return pass(message);
  const needed = Math.floor(disk.minFreeBytes / mebibyte);
  const next = `free some space: with less than ${needed} MiB no orders are accepted`;
  return (freeBytes < disk.minFreeBytes ? fail : warn)(message, next);
}

/** Whether the database is sound, and belongs to this configuration. */
export function checkDatabase(config: Config): Found {
  const { databasePath } = config;
  const { problems, upstream, ...versions } = inspectDatabase(databasePath, true);
  const [problem] = problems;
  if (problem !== undefined) {
    const next = 'run `order-sync db check`, and restore the last good backup';
    return fail(`${databasePath} is damaged: ${problem}`, next);
  }
  requireStamp(config);
  const schema = `schema ${versions.schemaVersion} of ${versions.newestSchema}`;
  if (versions.isOlder)
    return warn(
      `${databasePath} is sound, ${schema}: the next start will migrate it`,
      'back up first: `order-sync db backup`',
    );
  return pass(
    `${databasePath} is sound: ${schema}, upstream ${upstream ?? 'none'}, SQLite ${versions.sqliteVersion}`,
  );
}

/** Whether the group of results can enter every folder on the way to them. */
export function checkResults({ folder, access }: Config['results']): Found {
  const closed = foldersAbove(folder).filter((path) => {
    const { mode, gid } = statSync(path);
    return (mode & (gid === access.gid ? 0o010 : 0o001)) === 0;
  });
  const [first] = closed;
  if (first === undefined) return pass(`the group ${access.gid} can read ${folder}`);
  const message = `the group ${access.gid} of results.group cannot enter ${closed.join(', ')}, and so cannot read ${folder}`;
  return warn(
    message,
    `set results.folder to a folder elsewhere, or let other users enter: chmod o+x ${first}`,
  );
}

/** The existing ones: the worker creates the others. */
function foldersAbove(folder: string): readonly string[] {
  const above = dirname(folder);
  if (above === folder) return [];
  return [...foldersAbove(above), ...(existsSync(above) ? [above] : [])];
}

/**
 * One finding for each pause that stands in the attention list, and for each key that is used
 * elsewhere, too.
 */
export function pauseFindings({ databasePath }: Config): readonly Finding[] {
  const pauses = readOutbox(databasePath, (reader) =>
    (['pause', 'key_used_elsewhere'] as const).flatMap((kind) =>
      reader.attention(mostPauses, { kind }),
    ),
  );
  return pauses.map(({ id, scope, code, since, message, holdsUp, whatToDo }) => {
    const named = id.startsWith('sink:') ? id : scope;
    const next = whatToDo.replace('`queue resume`', `\`queue resume ${named}\``);
    return {
      check: String(scope),
      ...warn(`${code} since ${since}, holds up ${holdsUp}: ${message ?? ''}`, next),
    };
  });
}

/** Whether a lookup has found an order, which alone tells what became of a call without an answer. */
export function lookupFinding({ databasePath }: Config): Finding {
  return readOutbox(databasePath, (reader) => {
    const [row] = reader.attention(1, { kind: 'lookup' });
    const check = 'lookups';
    if (row !== undefined) return { check, ...warn(row.message ?? row.code, row.whatToDo) };
    if (reader.isAnyLookupProven()) return { check, ...pass('a lookup has found an order') };
    const next =
      'buy an order and run `order-sync doctor` again; if no lookup finds it, correct wholesale.wire.lookup';
    return {
      check,
      ...warn(
        'no lookup has found an order yet: refused orders and orders without an answer need review',
        next,
      ),
    };
  });
}

/** One finding for each key. */
export function keyFindings({ keys }: ApiResult): readonly Finding[] {
  return keys.map((key) => ({ check: `key:${key.key}`, ...checkKey(key) }));
}

function checkKey({ verdict, outcome, message }: ApiResult['keys'][number]): Found {
  switch (verdict) {
    case 'open':
      return pass('the API answers and accepts the key');
    case 'no_slot':
      return warn(message, 'ask again in a minute');
    case 'cannot_tell':
      if (outcome === 'rate_limited') return warn(message, 'ask again in a minute');
      return fail(`the answer does not come from the API (${outcome}): ${message}`, checkAddress);
    case 'closed':
      return fail(`${outcome}: ${message}`, nextSteps[outcome ?? ''] ?? checkPath);
  }
}

/**
 * Whether products have prices, in the currency of each shop and of the files; nothing where the
 * catalogue was not asked.
 */
export function priceFindings({ intake }: Config, { keys }: ApiResult): readonly Finding[] {
  const asked = keys.flatMap(({ verdict, currencies }) =>
    verdict === 'open' && currencies !== undefined ? [currencies] : [],
  );
  if (asked.length === 0) return [];
  const priced = asked.find((currencies) => currencies !== null);
  if (priced === undefined) {
    const message = 'no product of the catalogue was read: prices and currencies are not checked';
    const next = 'map its answer below `wholesale.wire.catalogue`';
    return [{ check: 'prices', ...warn(message, next) }];
  }
  const used = [...intake.folders, ...intake.shops].flatMap(({ currency }) => currency ?? []);
  const missing = [...new Set(used)].filter((currency) => !priced.includes(currency));
  const first = `the first products of the catalogue have prices in ${priced.join(', ') || 'no currency'}`;
  if (priced.length > 0 && missing.length === 0) return [{ check: 'prices', ...pass(first) }];
  const next =
    'correct the currency under `intake`, or map the prices below `wholesale.wire.catalogue`';
  return [
    { check: 'prices', ...warn([first, ...missing.map((it) => `none in ${it}`)].join(', '), next) },
  ];
}

export const checkAddress =
  'compare wholesale.base_url with the address that the supplier names: is a path such as /v1 missing, or should it not be there? does a proxy answer?';
const askSupplier = 'ask the supplier about the account';
const nextSteps: Readonly<Record<string, string>> = {
  not_found: checkAddress,
  invalid_key: 'put a valid key into wholesale.keys, then run `order-sync check-config --reload`',
  ip_not_allowed: 'have the supplier allow the address of this machine for the key',
  tls_refused:
    'if a private authority issued the certificate of the API, name this authority with wholesale.ca_file; else compare base_url with the name in the certificate, and check the clock',
  key_of_other_account: 'put a key of the account that bought the orders into wholesale.keys',
  account_not_allowed: askSupplier,
  api_disabled: askSupplier,
};
const checkPath =
  'check wholesale.base_url, DNS, firewall and proxy between this machine and the API';

export function checkClock({ aheadMs }: ApiResult): Found {
  if (aheadMs === null)
    return warn(
      'the answers of the API have no Date header, so the clock of this machine cannot be compared',
      'let NTP set the clock of this machine',
    );
  const offset = `${shortDuration(Math.abs(aheadMs))} ${aheadMs < 0 ? 'behind' : 'ahead of'} that of the API`;
  if (Math.abs(aheadMs) <= wrongClockMs) return pass(`the clock of this machine is ${offset}`);
  const next =
    'let NTP set the clock: until then, an order near its deadline is not bought and does not expire';
  return warn(`the clock of this machine is ${offset}`, next);
}

/** Whether the worker can listen on an address. */
export async function checkPort(
  key: string,
  address: { host: string; port: number },
): Promise<Found> {
  const server = createServer();
  try {
    await listen(server, address, `change ${key}, or stop the other program`);
  } finally {
    server.close();
  }
  const { host, port } = address;
  return pass(port === 0 ? `${host}, any free port` : `${host}:${port} is free`);
}
