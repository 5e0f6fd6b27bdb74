import { timingSafeEqual } from 'node:crypto';
import { type Context, Hono, type MiddlewareHandler } from 'hono';
import * as z from 'zod';
import {
  bearerToken,
  canonicalAddress,
  fingerprintOf,
  newAccountSchema,
} from '../account/accounts.ts';
import {
  accountEventSchema,
  esimEventSchema,
  itemEventSchema,
  type Operator,
  settingChangesSchema,
} from '../operator/operator.ts';
import type { Committer } from '../storage/committer.ts';
import { requestFilterSchema } from '../orders/request-log.ts';
import { readJsonBody, type Web } from './server.ts';

const tenYearsMs = 10 * 365 * 86_400_000;
const clockSchema = z.strictObject({ advance_ms: z.int().min(0).max(tenYearsMs) });
const ledgerQuerySchema = z.strictObject({ account: z.string().optional() });
const maxBodyBytes = 1_048_576;

/**
 * Carries out one command. Its result is the JSON answer: false is 404, an error is 422, undefined
 * is `{"ok": true}`.
 */
type Command = (
  operator: Operator,
  body: unknown,
  parameter: (name: string) => string,
  query: object,
) => unknown;

const commands: Record<string, Command> = {
  'GET /ledger': (operator, _body, _parameter, query) =>
    operator.ledger(ledgerQuerySchema.parse(query).account),
  'GET /requests': (operator, _body, _parameter, query) =>
    operator.requests(requestFilterSchema.parse(query)),
  'GET /requests/:id': (operator, _body, parameter) => operator.request(parameter('id')),
  'GET /faults': (operator) => ({ faults: operator.faults.list() }),
  'POST /faults': (operator, body) => ({
    added: [body].flat().map((rule) => operator.faults.add(rule)),
  }),
  'DELETE /faults': (operator) => operator.faults.restart([]),
  'GET /settings': (operator) => operator.settings(),
  'PATCH /settings'(operator, body) {
    operator.change(settingChangesSchema.parse(body));
    return operator.settings();
  },
  'POST /reset': (operator) => operator.reset(),
  'GET /clock': (operator) => ({ now: operator.now() }),
  'POST /clock': (operator, body) => ({
    now: operator.advanceClock(clockSchema.parse(body).advance_ms),
  }),
  'POST /esims/:iccid': (operator, body, parameter) =>
    operator.esimEvent(parameter('iccid'), esimEventSchema.parse(body)),
  'POST /orders/:number/deliver': (operator, _body, parameter) =>
    operator.deliverOrder(parameter('number')),
  'POST /orders/:number/refund': (operator, _body, parameter) =>
    operator.refundOrder(parameter('number')),
  'POST /accounts': (operator, body) => operator.createAccount(newAccountSchema.parse(body)),
  'POST /accounts/:id': (operator, body, parameter) =>
    operator.accountEvent(parameter('id'), accountEventSchema.parse(body)),
  'POST /accounts/:id/keys/:name/revoke': (operator, _body, parameter) =>
    operator.revokeKey(parameter('id'), parameter('name')),
  'POST /items/:item': (operator, body, parameter) =>
    operator.itemEvent(parameter('item'), itemEventSchema.parse(body)),
};

/**
 * The routes below /__sandbox/, with which a person or a test plays the operator of the service.
 */
export function adminRoutes(
  operator: Operator,
  committer: Committer,
  token: string | undefined,
): Hono<Web> {
  const app = new Hono<Web>();
  app.use('*', operatorsOnly(token));
  for (const [route, command] of Object.entries(commands)) {
    const [method = '', path = ''] = route.split(' ');
    app.on(method, path, async (context: Context<Web>) => {
      const body = await readJsonBody(context.env.incoming, maxBodyBytes);
      if ('problem' in body) return problem(context, 422, 'invalid_request', body.problem);
      try {
        const result = await committer.run(() =>
          command(
            operator,
            body.json,
            (name) => context.req.param(name) ?? '',
            context.req.query(),
          ),
        );
        if (result === false)
          return problem(context, 404, 'not_found', 'There is no such thing in this sandbox.');
        return context.json(result === undefined || result === true ? { ok: true } : result);
      } catch (error) {
        const message = error instanceof z.ZodError ? z.prettifyError(error) : messageOf(error);
        return problem(context, 422, 'invalid_request', message);
      }
    });
  }
  app.all('*', (context) =>
    problem(context, 404, 'not_found', 'There is no such route below /__sandbox/.'),
  );
  return app;
}

/**
 * With a token, only callers that send it. Without one, only programs on this machine, and no web
 * page: browsers say which page a request comes from.
 */
function operatorsOnly(token: string | undefined): MiddlewareHandler<Web> {
  return async (context, next) => {
    const { headers, socket } = context.env.incoming;
    const refuse = () =>
      problem(context, 403, 'account_not_allowed', 'Only the operator of the sandbox may do this.');
    if (token !== undefined) {
      const given = fingerprintOf(bearerToken(headers.authorization) ?? '');
      if (!timingSafeEqual(Buffer.from(given), Buffer.from(fingerprintOf(token)))) return refuse();
    } else {
      const host = (headers.host ?? '').replace(/:\d+$/, '');
      if (!isLoopback(socket.remoteAddress ?? '') || !(host === 'localhost' || isLoopback(host)))
        return refuse();
      const isOfPage =
        headers.origin !== undefined || (headers['sec-fetch-site'] ?? 'none') !== 'none';
      if (isOfPage) return refuse();
    }
    await next();
    return undefined;
  };
}

function isLoopback(address: string): boolean {
  const canonical = canonicalAddress(address);
  return canonical === '::1' || canonical.startsWith('127.');
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function problem(
  context: Context<Web>,
  status: 403 | 404 | 422,
  code: string,
  message: string,
): Response {
  return context.json({ error: { code, message } }, status);
}
