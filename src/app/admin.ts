import type { Socket } from 'node:net';
import type { Hono } from 'hono';
import { controlRoutes, newControlToken } from '../admin/control-routes.ts';
import { startHealthServer, type HealthCheck, type HealthServer } from '../admin/health-server.ts';
import { loggable, performInWorker } from '../admin/perform-command.ts';
import { actionRoutes } from '../admin/actions/action-routes.ts';
import { pageRoutes } from '../admin/pages/page-routes.ts';
import { pausesShown } from '../admin/health-checks.ts';
import { PageAccess } from '../admin/sign-in/page-access.ts';
import {
  isCalling,
  type CommandResult,
  type OperatorCommand,
} from '../core/operator/operator-command.ts';
import { OrderSyncError } from '../core/order-sync-error.ts';
import { troublesOf } from './build-results.ts';
import { type CommandCalls, commandSettings, performCalls } from './commands.ts';
import { explain, explainQueue, type QueueSources } from '../buying/queue/explain-queue.ts';
import type { ConfigReloader } from './reload.ts';
import type { CurrentConfig, PartDeps, WorkerDeps, WorkerParts } from './worker-deps.ts';

export interface AdminDeps {
  /** Runs the commands that call others: the stop aborts them. */
  readonly calls: CommandCalls;
  readonly reloader: ConfigReloader | null;
  readonly checks: readonly HealthCheck[];
  readonly draining: () => boolean;
}

export interface Admin extends HealthServer {
  /** The secret that commands must show, in the run file only. */
  readonly token: string;
}

export async function startAdmin(
  deps: PartDeps,
  parts: WorkerParts,
  own: AdminDeps,
  current: CurrentConfig,
): Promise<Admin> {
  const { config, clock, version, metrics } = deps;
  const { reloader, checks, draining } = own;
  const { listen } = config.admin;
  const token = newControlToken();
  const perform = performer(parts, own.calls, deps, current);
  const controlLogger = deps.logger.child({ component: 'control' });
  const control = {
    token,
    host: listen.host,
    draining,
    reload: reloadOf(reloader),
    logger: controlLogger,
    perform,
  };
  const addMore = (routes: Hono, proven: (socket: Socket) => void): void => {
    routes.route('/', controlRoutes({ ...control, proven }));
    // They check every path that is left, so they come last.
    routes.route('/', adminPages(parts, own, deps, current, perform));
  };
  const pauses = pausesShown(parts.store.read, clock);
  const logger = deps.logger.child({ component: 'admin' });
  const health = { ...listen, version, checks, pauses, metrics, draining, addMore, clock, logger };
  return { ...(await startHealthServer(health)), token };
}

function performer(
  parts: WorkerParts,
  calls: CommandCalls,
  deps: WorkerDeps,
  current: CurrentConfig,
) {
  const { store, dispatcher, notify } = parts;
  const worker = { pausesChanged: () => dispatcher.pausesChanged(), notify };
  return async (command: OperatorCommand): Promise<CommandResult> => {
    if (command.action === 'explain')
      return explain(queueSources(parts, deps, current), command.reference);
    if (isCalling(command))
      return await calls.run((signal) => performCalls(parts, command, signal));
    const result = await performInWorker(
      worker,
      store,
      command,
      commandSettings(current.config),
      deps.clock,
    );
    deps.logger.info(loggable(command), 'operator command performed');
    return result;
  };
}

function adminPages(
  parts: WorkerParts,
  { reloader, checks, draining }: AdminDeps,
  deps: WorkerDeps,
  current: CurrentConfig,
  perform: ReturnType<typeof performer>,
): ReturnType<typeof pageRoutes> {
  const { config, clock, version } = deps;
  const { read } = parts.store;
  const logger = deps.logger.child({ component: 'pages' });
  const record = parts.store.operator.signedIn;
  const access = new PageAccess(() => current.config.admin, { clock, logger, record });
  return pageRoutes({
    access,
    logger,
    actions: (page) =>
      actionRoutes({
        sources: { read, clock },
        perform,
        reload: reloadOf(reloader),
        draining,
        page,
        access,
      }),
    sources: {
      read,
      explainQueue: () => explainQueue(queueSources(parts, deps, current)),
      troubles: async () => (await troublesOf(checks)).map(({ text }) => text),
      configInUse: () => reloader && { ...reloader.inUse, readAtMs: reloader.last().succeededAtMs },
      instance: config.instance,
      environment: config.wholesale.environment,
      version,
      clock,
    },
  });
}

/** Reads the configuration again. @throws OrderSyncError NOT_ALLOWED where nothing can be read again */
const reloadOf = (reloader: ConfigReloader | null) => async (asked: string) => {
  if (reloader === null)
    throw new OrderSyncError(
      'NOT_ALLOWED',
      'The demo cannot reload its configuration: start the demo again',
    );
  return await reloader.reload(asked);
};

function queueSources(
  { store, submission: { gate, apiClock } }: WorkerParts,
  { clock }: WorkerDeps,
  { config }: CurrentConfig,
): QueueSources {
  const { maxUnknownOutcomes, concurrency } = config.submit;
  const { sendingMinFreeBytes: minFreeBytes } = config.disk;
  const worker = { gate, concurrency, present: apiClock.present() };
  return { read: store.read, nowMs: clock.wallMs(), maxUnknownOutcomes, minFreeBytes, worker };
}
