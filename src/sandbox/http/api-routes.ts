import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Context, Hono } from 'hono';
import { canonicalAddress } from '../account/addresses.ts';
import { type Answer, refusal } from './answers.ts';
import type { Call } from '../orders/call.ts';
import type { SandboxClock } from '../clock.ts';
import type { Committer } from '../committer.ts';
import { deliverFault, type Exchange, textOf } from '../faults/fault-delivery.ts';
import type { DrawnFault, FaultSelection } from '../faults/fault-selection.ts';
import { readJsonBody } from './json-body.ts';
import { movesMoney, type Operation } from '../orders/operations.ts';
import type { SeededStream } from '../randomness.ts';
import type { Service } from '../orders/service.ts';
import type { Shelf } from '../orders/sandbox-state.ts';

export type Web = { Bindings: HttpBindings };

/** What the routes of the API need. */
export type ApiParts = {
  shelf: Shelf;
  service: Service;
  committer: Committer;
  clock: SandboxClock;
  faults: FaultSelection;
  latency: { before: SeededStream; after: SeededStream };
  /** Resolves after so many milliseconds, or at once when the sandbox closes. */
  pause(ms: number): Promise<void>;
};

/** The endpoints of the service (Spec 4), and 404 for everything else. */
export function addApiRoutes(app: Hono<Web>, parts: ApiParts): void {
  const to =
    (operation: Operation, parameter?: string) =>
    (context: Context<Web>): Promise<Response> =>
      exchange(context, operation, parameter === undefined ? '' : (context.req.param(parameter) ?? ''), parts);
  app.post('/orders', to('gift_card_order'));
  app.get('/orders/:key', to('gift_card_lookup', 'key'));
  app.get('/products', to('products'));
  app.post('/esim/orders', to('esim_order'));
  app.get('/esim/orders/:key', to('esim_order_lookup', 'key'));
  app.get('/esim/destinations', to('destinations'));
  app.get('/esim/destinations/:destination/plans', to('plans', 'destination'));
  app.get('/esim/esims/:iccid', to('esim', 'iccid'));
  app.get('/esim/esims/:iccid/topups', to('topups', 'iccid'));
  app.post('/esim/esims/:iccid/topups', to('esim_topup', 'iccid'));
  app.post('/esim/esims/:iccid/cancel', to('esim_cancel', 'iccid'));
  app.get('/balances', to('balances'));
  app.all('*', to('unknown'));
}

async function exchange(
  context: Context<Web>,
  operation: Operation,
  subject: string,
  parts: ApiParts,
): Promise<Response> {
  const { incoming, outgoing } = context.env;
  const { settings } = parts.shelf;
  const body = movesMoney(operation)
    ? await readJsonBody(incoming, settings.requests.max_body_bytes)
    : { json: undefined };
  await wait(parts, parts.latency.before.between(settings.latency.before_ms));
  const call: Call = {
    operation,
    subject,
    body,
    arrivedAt: parts.clock.now(),
    authorization: incoming.headers.authorization,
    address: addressOf(context, settings.requests.trust_forwarded_for),
    query: new Map(Object.entries(context.req.query())),
  };
  const drawn = drawFault(call, incoming.headers['sandbox-fault'], parts);
  if (drawn instanceof Error) return respond(refusal(422, 'invalid_request', 'sandbox-fault: no such fault.'));
  let answer: Answer | 'done';
  if (drawn === null) {
    answer = await parts.committer.run(() => parts.service.answer(call, null));
  } else {
    const { socket } = incoming;
    answer = await deliverFault(drawn.fault, drawn.onlyWhenCommitted, {
      ...spoiledExchange(call, drawn, parts),
      socket,
    });
  }
  if (answer === 'done') {
    // Nothing more will be written by HTTP rules: whatever happens to the socket now has been decided by the fault.
    outgoing.detachSocket(incoming.socket);
    return RESPONSE_ALREADY_SENT;
  }
  await wait(parts, parts.latency.after.between(settings.latency.after_ms));
  return respond(answer);
}

function drawFault(call: Call, header: string | string[] | undefined, parts: ApiParts): DrawnFault | Error | null {
  try {
    const asked = Array.isArray(header) ? header[0] : header;
    return parts.faults.draw(call, asked, keyName(call, parts), parts.shelf.catalogue);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function keyName(call: Call, parts: ApiParts): string | undefined {
  const token = /^Bearer +(\S+) *$/i.exec(call.authorization ?? '')?.[1];
  return parts.faults.looksAtKeys && token !== undefined ? parts.shelf.accounts.keyOf(token)?.name : undefined;
}

/** The hooks that a fault works with. */
function spoiledExchange(call: Call, { fault }: DrawnFault, parts: ApiParts): Omit<Exchange, 'socket'> {
  const { committer, service } = parts;
  return {
    pause: (ms) => parts.pause(ms),
    note: (status) => committer.run(() => service.note(call, status, fault.fault)),
    perform: () =>
      committer.run(() => {
        const answer = service.answer(call, fault.fault);
        if (fault.fault === 'empty_stock' && answer.committed === true) service.emptyStockOf(call);
        return answer;
      }),
    async performLater(delayMs, onAdmitted) {
      const admitted = await committer.run(() => service.admit(call, fault.fault));
      onAdmitted();
      if ('status' in admitted) return admitted;
      await parts.pause(delayMs);
      return committer.run(() => service.finish(admitted, parts.clock.now()));
    },
  };
}

function wait(parts: ApiParts, ms: number): Promise<void> | undefined {
  return ms > 0 ? parts.pause(ms) : undefined;
}

function addressOf(context: Context<Web>, trustForwarded: boolean): string {
  const forwarded = trustForwarded ? context.req.header('x-forwarded-for')?.split(',')[0]?.trim() : undefined;
  return canonicalAddress(forwarded ?? context.env.incoming.socket.remoteAddress ?? '');
}

export function respond(answer: Answer): Response {
  const text = textOf(answer);
  const type: Record<string, string> = text === '' ? {} : { 'content-type': 'application/json' };
  return new Response(text === '' ? null : text, { status: answer.status, headers: { ...type, ...answer.headers } });
}
