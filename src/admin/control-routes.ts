import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { Socket } from 'node:net';
import type { HttpBindings } from '@hono/node-server';
import { Hono, type Context } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { Logger } from 'pino';
import {
  operatorCommandSchema,
  type CommandResult,
  type OperatorCommand,
} from '../core/operator/operator-command.ts';
import { OrderSyncError, type OrderSyncErrorCode } from '../core/order-sync-error.ts';
import { ConfigInvalidError } from '../config/config-issue.ts';
import { secretDigest } from '../ops/callers.ts';
import { programVersion } from '../ops/program-version.ts';
import type { ReloadReport } from '../config/reload-plan.ts';
import { controlPath, reloadPath, versionHeader } from './control-protocol.ts';

interface ControlOptions {
  readonly token: string;
  /** The configured host of the listener; loopback names are always accepted. */
  readonly host: string;
  readonly draining: () => boolean;
  readonly perform: (command: OperatorCommand) => Promise<CommandResult>;
  readonly reload: (asked: string) => Promise<ReloadReport>;
  readonly logger: Logger;
  /**
   * Called with the connection of each command that has the token: a flood of others must not close
   * it.
   */
  readonly proven: (socket: Socket) => void;
}

const bodyBytes = 1_048_576;

export const statusOf: Partial<Record<OrderSyncErrorCode, 404 | 409 | 422 | 503>> = {
  NOT_FOUND: 404,
  NOT_ALLOWED: 409,
  INVALID_INPUT: 422,
  CONFIG_INVALID: 422,
  DISK_FULL: 503,
  DATABASE_BUSY: 503,
};

/**
 * The routes for the command line. They accept requests only from this machine, only with the token
 * of this run, and never from a page in a browser, whatever name it used for this address.
 */
export function controlRoutes(options: ControlOptions): Hono<{ Bindings: HttpBindings }> {
  const routes = new Hono<{ Bindings: HttpBindings }>();
  routes.use('/control/*', async (context, next) => {
    context.header('cache-control', 'no-store');
    const forbidden = whyForbidden(context, options);
    if (forbidden !== null)
      return context.json({ error: { code: 'FORBIDDEN', message: forbidden } }, 403);
    const given = /^Bearer (\S+)$/.exec(context.req.header('authorization') ?? '')?.[1] ?? '';
    // It takes the same time for every token, also for one of another length.
    if (!timingSafeEqual(secretDigest(options.token), secretDigest(given))) {
      const message = 'The control token belongs to another run of the worker.';
      return context.json({ error: { code: 'UNAUTHORIZED', message } }, 401);
    }
    options.proven(context.env.incoming.socket);
    context.header(versionHeader, programVersion);
    const version = context.req.header(versionHeader) ?? 'unknown';
    if (version !== programVersion) {
      const message = `The worker is of version ${programVersion}, and the command of version ${version}`;
      const hint =
        "nothing was changed: use the worker's version, or restart the worker with yours";
      return context.json({ error: { code: 'NOT_ALLOWED', message, hint } }, 409);
    }
    if (options.draining()) {
      const hint = 'try again when the worker has stopped';
      return context.json(
        { error: { code: 'UNREACHABLE', message: 'The worker is stopping', hint } },
        503,
      );
    }
    await next();
    return undefined;
  });
  const limit = bodyLimit({
    maxSize: bodyBytes,
    onError: (context) =>
      context.json(
        { error: { code: 'INVALID_INPUT', message: `A command has at most ${bodyBytes} bytes.` } },
        413,
      ),
  });
  routes.post(reloadPath, limit, (context) =>
    answer(context, options, 'reload', () => options.reload('command')),
  );
  routes.post(controlPath, limit, async (context) => {
    const parsed = operatorCommandSchema.safeParse(await context.req.json().catch(() => null));
    if (!parsed.success)
      return context.json(
        { error: { code: 'INVALID_INPUT', message: 'This is not a command' } },
        422,
      );
    return await answer(context, options, parsed.data.action, () => options.perform(parsed.data));
  });
  return routes;
}

async function answer(
  context: Context,
  options: ControlOptions,
  action: string,
  perform: () => Promise<unknown>,
) {
  try {
    return context.json({ result: await perform() });
  } catch (error) {
    const status = error instanceof OrderSyncError ? (statusOf[error.code] ?? 500) : 500;
    if (status === 500) options.logger.error({ err: error, action }, 'a command failed');
    if (error instanceof OrderSyncError) {
      const { code, message, hint = null } = error;
      const issues = error instanceof ConfigInvalidError ? { issues: error.issues } : {};
      return context.json({ error: { code, message, hint, ...issues } }, status);
    }
    const message = 'The worker failed; its log has the reason';
    return context.json({ error: { code: 'INVARIANT', message, hint: null } }, status);
  }
}

function whyForbidden(
  context: Context<{ Bindings: HttpBindings }>,
  options: ControlOptions,
): string | null {
  const socket = context.env.incoming.socket;
  const from = plainAddress(socket.remoteAddress);
  const isHere =
    from !== null &&
    (from === '::1' || from.startsWith('127.') || from === plainAddress(socket.localAddress));
  if (!isHere) return 'Commands are accepted from this machine only.';
  const host = (context.req.header('host') ?? '').replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
  // A page that reaches this address by DNS rebinding still sends its own host name.
  if (!['127.0.0.1', 'localhost', '::1', options.host].includes(host))
    return 'The host name in the request is not that of this worker.';
  const site = context.req.header('sec-fetch-site');
  if (context.req.header('origin') !== undefined || (site !== undefined && site !== 'none')) {
    return 'Commands are not accepted from web pages.';
  }
  if (context.req.header('content-type')?.split(';')[0]?.trim() !== 'application/json')
    return 'A command is JSON.';
  return null;
}

/** An IPv4 address without the prefix that an IPv6 socket adds. */
function plainAddress(address: string | undefined): string | null {
  return address === undefined ? null : address.replace(/^::ffff:/, '');
}

/**
 * A new secret for one run of the worker: every reader of its run file can command it. Never
 * logged.
 */
export const newControlToken = (): string => randomBytes(32).toString('base64url');
