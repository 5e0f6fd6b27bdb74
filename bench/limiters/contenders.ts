import { setTimeout as delay } from 'node:timers/promises';
import PQueue from 'p-queue';
import { Pool } from 'undici';
import * as z from 'zod';

/**
 * Runs one limiter in a process that can be killed, configured for the server's limit as its
 * documentation says. It gets, as JSON, the contender, the address and the references to buy. A
 * rate-limited call waits as long as the server asks and then takes the limiter again, which is
 * more than many users would write.
 */
const { contender, url, keyValue, references, windowMs, orders } = z
  .object({
    contender: z.string(),
    url: z.string(),
    keyValue: z.string(),
    references: z.array(z.string()),
    windowMs: z.number(),
    orders: z.number(),
  })
  .parse(JSON.parse(process.argv[2] ?? '{}'));

const pool = new Pool(url, { connections: 32 });

/**
 * Sends one order. Returns null when it is bought, else how long the server asks to wait, in ms.
 */
async function buy(reference: string): Promise<number | null> {
  const { statusCode, headers, body } = await pool.request({
    path: '/orders',
    method: 'POST',
    headers: { authorization: `Bearer ${keyValue}`, 'content-type': 'application/json' },
    body: JSON.stringify({ reference, variant: 'steam-usd-5', quantity: 1, currency: 'USD' }),
  });
  await body.dump();
  if (statusCode === 429) return Number(headers['retry-after'] ?? 1) * 1000;
  if (statusCode !== 201 && statusCode !== 200)
    throw new Error(`an order was answered with ${statusCode}`);
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

const plain = new PQueue({ intervalCap: orders, interval: windowMs });
const strict = new PQueue({ intervalCap: orders, interval: windowMs, strict: true });

switch (contender) {
  case 'p-queue':
    await through((call) => plain.add(call));
    break;
  case 'p-queue strict':
    await through((call) => strict.add(call));
    break;
  default:
    throw new Error(`there is no contender ${contender}`);
}
process.exit(0);
