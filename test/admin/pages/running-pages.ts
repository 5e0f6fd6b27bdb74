import { request } from 'node:http';
import { onTestFinished } from 'vitest';
import { loadConfig } from '../../../src/config/load.ts';
import { actionRoutes } from '../../../src/admin/actions/action-routes.ts';
import { controlRoutes } from '../../../src/admin/control-routes.ts';
import { startHealthServer } from '../../../src/admin/health-server.ts';
import type { PageSources } from '../../../src/admin/pages/page-sources.ts';
import { pageRoutes } from '../../../src/admin/pages/page-routes.ts';
import type { AdminSettings } from '../../../src/admin/settings.ts';
import { PageAccess } from '../../../src/admin/sign-in/page-access.ts';
import { performCommand } from '../../../src/admin/perform-command.ts';
import {
  isCalling,
  type CallingCommand,
  type CommandResult,
  type OperatorCommand,
} from '../../../src/core/operator/operator-command.ts';
import { createLogger } from '../../../src/ops/logger.ts';
import { OrderSyncError } from '../../../src/core/order-sync-error.ts';
import type { Store } from '../../../src/store/store.ts';
import { explainQueue } from '../../../src/buying/queue/explain-queue.ts';
import { fillOutbox, openOutbox } from '../../cli/sample-outbox.ts';
import { installation, nowMs, type Installation } from '../../cli/installation.ts';
import { HandClock } from '../../support/hand-clock.ts';

export const operatorToken = 'the-token-of-anna-0001';
export const controlToken = 'the-token-of-the-run-file';
export const viewerToken = 'the-token-of-ben-00001';
export const tokens: AdminSettings['tokens'] = [
  { name: 'anna', role: 'operator', secrets: [operatorToken, 'the-earlier-token-of-anna'] },
  { name: 'ben', role: 'viewer', secrets: [viewerToken] },
];

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** `name=value` of the cookie that was set; null: none was. */
  readonly cookie: string | null;
}

interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly form?: Readonly<Record<string, string>>;
  /** The body, where it is no form. */
  readonly body?: string;
}

interface PagesOptions {
  readonly settings?: Partial<AdminSettings>;
  readonly fill?: (place: Installation) => Promise<void>;
  readonly sources?: Partial<PageSources>;
  readonly actions?: Parameters<typeof pageRoutes>[0]['actions'];
  /** Whether the pages have the forms of the product, and perform them on the outbox. */
  readonly decides?: boolean;
  /** Performs the commands that make calls. */
  readonly calls?: (command: CallingCommand) => Promise<CommandResult>;
  readonly reload?: Parameters<typeof actionRoutes>[0]['reload'];
  /** Another outbox than that of the installation; who opened it closes it. */
  readonly store?: Store;
  /** The time of the worker. */
  readonly nowMs?: number;
}

/** The pages of a real outbox at a real address. */
export async function startPages(options: PagesOptions = {}) {
  const place = installation();
  await (options.fill ?? fillOutbox)(place);
  const store = options.store ?? openOutbox(place);
  if (options.store === undefined) onTestFinished(() => store.close());
  const clock = new HandClock(options.nowMs ?? nowMs);
  const logLines: string[] = [];
  const stream = { write: (text: string) => void logLines.push(text) };
  const logger = createLogger({ level: 'info', version: '1.2.3', instance: 'acme' }, stream);
  const listen = { host: '127.0.0.1', port: 0 };
  let settings: AdminSettings = { listen, tokens, hosts: [], isTrial: true, ...options.settings };
  const sources: PageSources = {
    read: store.read,
    explainQueue: () =>
      explainQueue({
        read: store.read,
        nowMs: clock.wallMs(),
        maxUnknownOutcomes: 8,
        minFreeBytes: 0,
        worker: null,
      }),
    troubles: async () => [],
    configInUse: () => ({
      ...loadConfig({ file: place.configFile, environment: {} }),
      readAtMs: nowMs,
    }),
    instance: 'acme',
    environment: 'sandbox',
    version: '1.2.3',
    clock,
    ...options.sources,
  };
  const record = store.operator.signedIn;
  const access = new PageAccess(() => settings, { clock, logger, record });
  const settingsOfCommands = {
    keyNames: ['main'],
    referenceExpiryMs: 86_400_000,
    lookupFamilies: ['gift_card', 'esim'],
  } as const;
  const perform = (command: OperatorCommand): Promise<CommandResult> => {
    if (isCalling(command) && options.calls !== undefined) return options.calls(command);
    if (isCalling(command) || command.action === 'explain')
      throw new Error('nothing is called here');
    return performCommand(store, command, settingsOfCommands, clock);
  };
  const draining = () => false;
  const reload =
    options.reload ??
    (() => Promise.reject(new OrderSyncError('NOT_ALLOWED', 'there is nothing to read again')));
  const decide: PagesOptions['actions'] = (page) =>
    actionRoutes({ sources, perform, reload, draining, page, access });
  const actions = options.decides === true ? decide : options.actions;
  const control = { token: controlToken, host: listen.host, draining, perform, reload, logger };
  const pages = pageRoutes({
    sources,
    access,
    logger,
    ...(actions === undefined ? {} : { actions }),
  });
  const server = await startHealthServer({
    ...listen,
    version: '1.2.3',
    checks: [],
    draining,
    clock,
    logger,
    addMore: (routes, proven) => {
      routes.route('/', controlRoutes({ ...control, proven }));
      routes.route('/', pages);
    },
  });
  onTestFinished(() => server.close());
  const ask = (path: string, asked: Asked = {}) => send(server.address, path, asked);
  const signIn = async (token: string, headers: Asked['headers'] = {}): Promise<Answer> =>
    await ask('/sign-in', { method: 'POST', form: { token, return_to: '/' }, headers });
  return {
    address: server.address,
    /** The log so far. */
    logLines,
    clock,
    store,
    ask,
    signIn,
    /** A browser of someone who is signed in. */
    as: async (token: string) => {
      const { cookie } = await signIn(token);
      const headers = { cookie: cookie ?? '' };
      const csrf =
        /name="csrf" value="([^"]+)"/.exec((await ask('/', { headers })).text)?.[1] ?? '';
      return { headers, csrf };
    },
    change: (next: Partial<AdminSettings>) => void (settings = { ...settings, ...next }),
  };
}

export function send(
  address: string,
  path: string,
  { method = 'GET', headers = {}, form, body: given }: Asked,
): Promise<Answer> {
  const body = form === undefined ? given : new URLSearchParams(form).toString();
  const type = form === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' };
  return new Promise((resolve, reject) => {
    const sent = request(`http://${address}${path}`, {
      method,
      headers: { accept: 'text/html', ...type, ...headers },
    });
    sent.on('error', reject);
    sent.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('error', reject);
      response.on('data', (piece: string) => void (text += piece));
      response.on('end', () => {
        const all = Object.entries(response.headers).map(([name, value]): [string, string] => [
          name,
          String(value),
        ]);
        const cookie = response.headers['set-cookie']?.[0]?.split(';')[0] ?? null;
        resolve({
          status: response.statusCode ?? 0,
          headers: Object.fromEntries(all),
          text,
          cookie,
        });
      });
    });
    sent.end(body);
  });
}
