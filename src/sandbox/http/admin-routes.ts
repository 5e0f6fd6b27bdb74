import { timingSafeEqual } from 'node:crypto';
import { type Context, Hono, type MiddlewareHandler } from 'hono';
import * as z from 'zod';
import { fingerprintOf } from '../account/accounts.ts';
import { canonicalAddress, isLoopback } from '../account/addresses.ts';
import type { Web } from './api-routes.ts';
import type { Committer } from '../committer.ts';
import { readJsonBody } from './json-body.ts';
import {
  accountEventSchema,
  changeableSettings,
  esimEventSchema,
  itemEventSchema,
  type Operator,
} from '../account/operator.ts';

const clockSchema = z.strictObject({
  advance_ms: z
    .int()
    .min(0)
    .max(10 * 365 * 86_400_000),
});
const changesSchema = z.partialRecord(z.enum(changeableSettings), z.unknown());
const maxBodyBytes = 1_048_576;

/** The routes below /__sandbox/: not part of the service, but the way to play its operator. */
export function adminRoutes(operator: Operator, committer: Committer, token: string | undefined): Hono<Web> {
  const app = new Hono<Web>();
  app.use('*', operatorsOnly(token));

  /** Runs one command with the JSON body of the call; false or a wrong body become errors of the usual shape. */
  const command =
    (run: (body: unknown, context: Context<Web>) => unknown) =>
    async (context: Context<Web>): Promise<Response> => {
      const body = await readJsonBody(context.env.incoming, maxBodyBytes);
      if ('problem' in body) return problem(context, 422, 'invalid_request', body.problem);
      try {
        const result = await committer.run(() => run(body.json, context));
        if (result === false) return problem(context, 404, 'not_found', 'There is no such thing in this sandbox.');
        return context.json(result ?? { ok: true });
      } catch (error) {
        return problem(
          context,
          422,
          'invalid_request',
          error instanceof z.ZodError ? z.prettifyError(error) : String(error),
        );
      }
    };

  app.get('/ledger', async (context) => context.json(await committer.run(() => operator.ledger())));
  app.get('/faults', (context) => context.json({ faults: operator.faults() }));
  app.get('/settings', (context) => context.json(operator.settings()));
  app.post(
    '/faults',
    command((body) => ({ added: rulesIn(body).map((rule) => operator.addFault(rule)) })),
  );
  app.delete(
    '/faults',
    command(() => operator.clearFaults()),
  );
  app.post(
    '/reset',
    command(() => operator.reset()),
  );
  app.post(
    '/clock',
    command((body) => ({ now: operator.advanceClock(clockSchema.parse(body).advance_ms) })),
  );
  app.patch(
    '/settings',
    command((body) => {
      operator.change(changesSchema.parse(body));
      return operator.settings();
    }),
  );
  app.post(
    '/catalogue/reload',
    command(() => ({ products: operator.reloadCatalogue().products.size })),
  );
  app.post(
    '/esims/:iccid',
    command((body, context) => done(operator.esimEvent(named(context, 'iccid'), esimEventSchema.parse(body)))),
  );
  app.post(
    '/orders/:number/refund',
    command((_body, context) => done(operator.refundOrder(named(context, 'number')))),
  );
  app.post(
    '/accounts/:id',
    command((body, context) => done(operator.accountEvent(named(context, 'id'), accountEventSchema.parse(body)))),
  );
  app.post(
    '/accounts/:id/keys/:name/revoke',
    command((_body, context) => done(operator.revokeKey(named(context, 'id'), named(context, 'name')))),
  );
  app.post(
    '/items/:item',
    command((body, context) => done(operator.itemEvent(named(context, 'item'), itemEventSchema.parse(body)))),
  );
  app.all('*', (context) => problem(context, 404, 'not_found', 'There is no such route below /__sandbox/.'));
  return app;
}

/** One rule or a list of rules; each is checked by the schema when it is added. */
function rulesIn(body: unknown): unknown[] {
  return Array.isArray(body) ? body : [body];
}

/** What a command answers when the thing it is about does not exist. */
function done(result: boolean): false | undefined {
  return result ? undefined : false;
}

function named(context: Context<Web>, name: string): string {
  return context.req.param(name) ?? '';
}

/**
 * With a token: only who knows it. Without: only from this machine, and never a web page that somebody has open
 * (browsers say where a request comes from; programs do not).
 */
function operatorsOnly(token: string | undefined): MiddlewareHandler<Web> {
  return async (context, next) => {
    const { headers, socket } = context.env.incoming;
    const refuse = () => problem(context, 403, 'account_not_allowed', 'Only the operator of the sandbox may do this.');
    if (token !== undefined) {
      const given = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1] ?? '';
      if (!timingSafeEqual(Buffer.from(fingerprintOf(given)), Buffer.from(fingerprintOf(token)))) return refuse();
    } else {
      const host = (headers.host ?? '').replace(/:\d+$/, '');
      const fromHere = isLoopback(canonicalAddress(socket.remoteAddress ?? ''));
      if (!fromHere || !(host === 'localhost' || isLoopback(host))) return refuse();
      if (headers.origin !== undefined || (headers['sec-fetch-site'] ?? 'none') !== 'none') return refuse();
    }
    await next();
    return undefined;
  };
}

function problem(context: Context<Web>, status: 403 | 404 | 422, code: string, message: string): Response {
  return context.json({ error: { code, message } }, status);
}
