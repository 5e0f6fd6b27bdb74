import { setTimeout as delay } from 'node:timers/promises';
import Bottleneck from 'bottleneck';
import { Queue, Worker } from 'bullmq';
import PQueue from 'p-queue';
import { Pool } from 'undici';
import * as z from 'zod';

/**
 * Runs one limiter in a process that can be killed, configured for the server's limit as its documentation says. It
 * gets, as JSON, the contender, the address and the references to buy. A rate-limited call waits as long as the server
 * asks and then takes the limiter again, which is more than many users would write.
 */
const { contender, url, keyValue, references, windowMs, orders, redisPort } = z
  .object({
    contender: z.string(),
    url: z.string(),
    keyValue: z.string(),
    references: z.array(z.string()),
    windowMs: z.number(),
    orders: z.number(),
    redisPort: z.number().nullable(),
  })
  .parse(JSON.parse(process.argv[2] ?? '{}'));

const pool = new Pool(url, { connections: 32 });

/** Sends one order. Returns null when it is bought, else how long the server asks to wait, in ms. */
async function buy(reference: string): Promise<number | null> {
  const { statusCode, headers, body } = await pool.request({
    path: '/orders',
    method: 'POST',
    headers: { authorization: `Bearer ${keyValue}`, 'content-type': 'application/json' },
    body: JSON.stringify({ reference, variant: 'steam-usd-5', quantity: 1, currency: 'USD' }),
  });
  await body.dump();
  if (statusCode === 429) return Number(headers['retry-after'] ?? 1) * 1000;
  if (statusCode !== 201 && statusCode !== 200) throw new Error(`an order was answered with ${statusCode}`);
  return null;
}

type Schedule = (call: () => Promise<number | null>) => Promise<number | null>;

async function through(schedule: Schedule): Promise<void> {
  const one = async (reference: string): Promise<void> => {
    for (;;) {
      const waitMs = await schedule(() => buy(reference));
      if (waitMs === null) return;
      await delay(waitMs);
    }
  };
  await Promise.all(references.map(one));
}

/** Jobs stay in Redis: only the first start adds them. */
async function throughBullMq(port: number): Promise<void> {
  const connection = { host: '127.0.0.1', port, maxRetriesPerRequest: null };
  const name = `orders-${keyValue}`;
  const queue = new Queue(name, { connection });
  await queue.addBulk(references.map((reference) => ({ name: 'order', data: { reference } })));
  const worker = new Worker<{ reference: string }>(
    name,
    async (job) => {
      const waitMs = await buy(job.data.reference);
      if (waitMs === null) return;
      await worker.rateLimit(waitMs);
      throw Worker.RateLimitError();
    },
    // Locks and the check for stalled jobs are shorter than their default of 30 s: a restart must not wait for them.
    {
      connection,
      concurrency: 20,
      limiter: { max: orders, duration: windowMs },
      lockDuration: 3000,
      stalledInterval: 3000,
    },
  );
  worker.on('error', (error) => process.stderr.write(`${error.message}\n`));
  await Promise.withResolvers<never>().promise;
}

const plain = new PQueue({ intervalCap: orders, interval: windowMs });
const strict = new PQueue({ intervalCap: orders, interval: windowMs, strict: true });

switch (contender) {
  case 'p-queue':
    await through((call) => plain.add(call));
    break;
  case 'p-queue strict':
    await through((call) => strict.add(call));
    break;
  case 'Bottleneck reservoir': {
    const limiter = new Bottleneck({
      reservoir: orders,
      reservoirRefreshAmount: orders,
      reservoirRefreshInterval: windowMs,
    });
    await through((call) => limiter.schedule(call));
    break;
  }
  case 'Bottleneck minTime': {
    const limiter = new Bottleneck({ minTime: windowMs / orders });
    await through((call) => limiter.schedule(call));
    break;
  }
  case 'BullMQ':
    if (redisPort === null) throw new Error('BullMQ needs Redis');
    await throughBullMq(redisPort);
    break;
  default:
    throw new Error(`there is no contender ${contender}`);
}
process.exit(0);
