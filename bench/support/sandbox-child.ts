import { subscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import * as z from 'zod';
import { createSandbox } from '../../sandbox/create-sandbox.ts';
import type { SandboxConfig } from '../../sandbox/settings/config.ts';
import type { KeyReport } from './key-report.ts';

/**
 * The sandbox in a process of its own: it does not use the thread that is measured. Over IPC, the
 * first message is its config, and every other message asks about a key.
 */
const start = z.object({ database: z.string(), config: z.custom<SandboxConfig>() });
/** Without a key, it asks when the next call arrives. */
const question = z.object({ id: z.number(), key: z.string().nullable() });

/** The ids of the questions that the next call answers. */
let waiting: number[] = [];

// Published by Node before any code of the sandbox runs.
subscribe('http.server.request.start', () => {
  const at = performance.timeOrigin + performance.now();
  for (const id of waiting) answer({ id, report: at });
  waiting = [];
});

function answer(message: unknown): void {
  process.send?.(message);
}

process.once('disconnect', () => process.exit(0));
const [first] = await once(process, 'message');
const { database, config } = start.parse(first);
const sandbox = await createSandbox({ database, config });

async function reportOn(key: string): Promise<KeyReport> {
  const ledger = await sandbox.operate((operator) => operator.ledger());
  const own = ledger.keys.find((candidate) => candidate.name === key);
  const calls = ledger.calls.filter(
    (call) => call.key === own?.key && call.operation === 'gift_card_order',
  );
  const orders = ledger.orders.filter((order) => order.account === own?.account);
  return {
    arrivals: calls.map((call) => call.arrived_at),
    limited: calls.filter((call) => call.limited === 1).length,
    bought: orders.map((order) => order.reference ?? ''),
    lastBoughtAt: Math.max(0, ...orders.map((order) => order.created_at)),
  };
}

process.on('message', (message) => {
  const { id, key } = question.parse(message);
  if (key === null) waiting.push(id);
  else void reportOn(key).then((report) => answer({ id, report }));
});
answer({ url: sandbox.url });
