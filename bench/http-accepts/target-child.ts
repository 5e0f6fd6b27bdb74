import { createWriteStream } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { Hono } from 'hono';
import * as z from 'zod';
import type { Web } from '../../src/intake/http/admission.ts';
import type { WebhookSettings } from '../../src/intake/http/settings.ts';
import { WebhookIntake } from '../../src/intake/http/webhook-intake.ts';
import { ConnectionGuard } from '../../src/ops/connection-guard.ts';
import { startWebhookServer } from '../../src/intake/http/webhook-server.ts';
import { createLogger } from '../../src/ops/logger.ts';
import { SystemClock } from '../../src/ops/system-clock.ts';
import { openStore } from '../../src/store/store.ts';

/**
 * The target of the orders, in a process of its own: our intake, or another route of the same
 * server.
 */
const start = z.object({
  kind: z.enum(['intake', 'no-op']),
  folder: z.string(),
  token: z.string(),
});

const clock = new SystemClock();
const listen = { host: '127.0.0.1', port: 0 };
const limits: WebhookSettings['limits'] = {
  bodyBytes: 1_048_576,
  batchLines: 1000,
  depth: 16,
  requestsPerMinute: 100_000_000,
  burst: 1_000_000,
  uncommitted: 1000,
  connections: 512,
  connectionsPerAddress: 512,
  unverifiedBytes: 16_777_216,
  verifiedBytes: 33_554_432,
  headersMs: 10_000,
  requestMs: 30_000,
};

/** The intake as the worker runs it, with its log, but without submission. */
async function intake(folder: string, token: string): Promise<string> {
  const store = openStore({
    path: join(folder, 'order-sync.db'),
    init: 'if-missing',
    namespace: { instance: 'bench', prefix: 'os', secret: Buffer.alloc(32, 7) },
    upstream: 'sandbox',
    sinks: [{ name: 'folder', sources: null }],
  });
  const log = createWriteStream(join(folder, 'log'));
  const { address } = await WebhookIntake.start({
    store,
    clock,
    logger: createLogger({ level: 'info', version: '0', instance: 'bench' }, log),
    version: '0',
    shops: { formats: [], handlerFor: () => null, health: () => 'pass', details: () => null },
    config: {
      listen,
      tokens: [{ name: 'shop', secrets: [token], scopes: ['post'], sources: ['shop'] }],
      standardWebhooks: [],
      limits,
    },
  });
  return address;
}

/** Reads nothing and writes nothing. */
async function noOp(): Promise<string> {
  const app = new Hono<Web>();
  app.post('/v1/orders', (context) => context.json({ status: 'accepted' }, 202));
  const { address } = await startWebhookServer(
    async (request, bindings) => await app.fetch(request, bindings),
    { listen, limits },
    {
      clock,
      guard: new ConnectionGuard(
        { ...limits, answerMs: 60_000, judgesAddresses: true },
        clock,
        () => undefined,
      ),
    },
  );
  return address;
}

process.once('disconnect', () => process.exit(0));
const [first] = await once(process, 'message');
const { kind, folder, token } = start.parse(first);
const address = kind === 'intake' ? await intake(folder, token) : await noOp();
process.send?.({ port: Number(address.split(':').at(-1)) });
