import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Context, Hono } from 'hono';
import { parse } from 'yaml';
import { bearerToken, canonicalAddress } from '../account/accounts.ts';
import type { Committer } from '../storage/committer.ts';
import { deliverFault, type Exchange } from '../faults/fault-delivery.ts';
import type { DrawnFault, FaultSelection } from '../faults/fault-selection.ts';
import { movesMoney, type Operation } from '../values/operations.ts';
import type { SandboxState } from '../orders/sandbox-state.ts';
import { admitCall, answerCall, finishCall, noteCall } from '../orders/service.ts';
import { type Call, refusal, toResponse } from '../orders/call.ts';
import { type OpenCalls, readJsonBody, type Web } from './server.ts';

type ApiParts = {
  state: SandboxState;
  committer: Committer;
  faults: FaultSelection;
  openCalls: OpenCalls;
};

const maxBodyBytes = 65_536;

const routes: Readonly<Record<string, Operation>> = {
  'POST /orders': 'gift_card_order',
  'GET /orders/:subject': 'gift_card_lookup',
  'GET /products': 'products',
  'POST /esim/orders': 'esim_order',
  'GET /esim/orders/:subject': 'esim_order_lookup',
  'GET /esim/destinations': 'destinations',
  'GET /esim/destinations/:subject/plans': 'plans',
  'GET /esim/esims/:subject': 'esim',
  'GET /esim/esims/:subject/topups': 'topups',
  'POST /esim/esims/:subject/topups': 'esim_topup',
  'POST /esim/esims/:subject/cancel': 'esim_cancel',
  'GET /balances': 'balances',
};

/** The endpoints of the API, their document, and 404 for every other path. */
export function addApiRoutes(app: Hono<Web>, parts: ApiParts): void {
  app.get('/openapi.json', (context) =>
    context.json(parse(readFileSync(join(import.meta.dirname, 'openapi.yaml'), 'utf8'))),
  );
  for (const [route, operation] of Object.entries(routes)) {
    const [method = '', path = ''] = route.split(' ');
    app.on(method, path, (context: Context<Web>) =>
      exchange(context, operation, context.req.param('subject') ?? '', parts),
    );
  }
  app.all('*', (context) => exchange(context, 'unknown', '', parts));
}

async function exchange(
  context: Context<Web>,
  operation: Operation,
  subject: string,
  parts: ApiParts,
): Promise<Response> {
  const { incoming, outgoing } = context.env;
  const { state, committer, openCalls } = parts;
  const body = movesMoney(operation)
    ? await readJsonBody(incoming, maxBodyBytes)
    : { json: undefined };
  await openCalls.pause(state.before.between(state.settings.latency.before_ms));
  const call: Call = {
    operation,
    subject,
    body,
    arrivedAt: state.clock.now(),
    token: bearerToken(incoming.headers.authorization),
    address: canonicalAddress(incoming.socket.remoteAddress ?? ''),
    query: new Map(Object.entries(context.req.query())),
  };
  const drawn = drawFault(call, context.req.header('sandbox-fault'), parts);
  if (drawn === 'unknown') {
    const refused = refusal(422, 'invalid_request', 'sandbox-fault: no such fault.');
    return toResponse(await committer.run(() => noteCall(state, call, refused)));
  }
  const answer =
    drawn === null
      ? await committer.run(() => answerCall(state, call, null))
      : await deliverFault(drawn, faultyExchange(call, drawn, incoming.socket, parts));
  if (answer === null) {
    // The fault has written to the socket, or will close it: the HTTP library must not write to it
    // any more.
    outgoing.detachSocket(incoming.socket);
    return RESPONSE_ALREADY_SENT;
  }
  await openCalls.pause(state.after.between(state.settings.latency.after_ms));
  return toResponse(answer);
}

function drawFault(
  call: Call,
  header: string | undefined,
  parts: ApiParts,
): DrawnFault | 'unknown' | null {
  const { faults, state } = parts;
  const key = call.token === undefined ? undefined : state.accounts.keyOf(call.token);
  try {
    return faults.draw(call, header, key, state.catalogue);
  } catch {
    return 'unknown';
  }
}

function faultyExchange(
  call: Call,
  { fault }: DrawnFault,
  socket: Exchange['socket'],
  parts: ApiParts,
): Exchange {
  const { state, committer, openCalls } = parts;
  return {
    socket,
    pause: (ms) => openCalls.pause(ms),
    note: (answer) => committer.run(() => noteCall(state, call, answer, fault.fault)),
    perform: () =>
      committer.run(() => {
        const answer = answerCall(state, call, fault.fault);
        if (fault.fault === 'empty_stock' && answer.committed === true)
          emptyStock(state, answer.orderNumber ?? '');
        return answer;
      }),
    async performLater(delayMs, onAdmitted) {
      const admitted = await committer.run(() => admitCall(state, call, fault.fault));
      onAdmitted();
      if ('status' in admitted) return admitted;
      await openCalls.pause(delayMs);
      return committer.run(() => finishCall(state, admitted));
    },
  };
}

/** The fault `empty_stock`: takes the rest of the stock after this order. */
function emptyStock({ orders, stock }: SandboxState, orderNumber: string): void {
  const { family, item } = orders.require(orderNumber);
  if (family === 'gift_card') stock.set(item, 0);
}
