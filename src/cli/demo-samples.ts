import { copyFile, mkdir, readdir, rename } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Config } from '../config/config.ts';
import type { Clock } from '../core/clock.ts';
import { OrderSyncError } from '../core/order-sync-error.ts';
import { createWholesaleClient } from '../wholesale/client.ts';
import { readWire } from '../wholesale/connector/wire.ts';

/** The order files that are shipped to try the worker with. */
export const samplesFolder = resolve(import.meta.dirname, '../../data/samples');

/**
 * Copies the samples into the inbox as a shop should write there: under a name that is not looked at, then renamed.
 * Returns their names.
 */
export async function dropSamples(inbox: string): Promise<readonly string[]> {
  await mkdir(inbox, { recursive: true, mode: 0o750 });
  const names = (await readdir(samplesFolder)).filter((name) => /\.(json|ndjson|csv)$/.test(name)).toSorted();
  for (const name of names) {
    const draft = join(inbox, `.${name}.tmp`);
    await copyFile(join(samplesFolder, name), draft);
    await rename(draft, join(inbox, name));
  }
  return names;
}

/**
 * Buys the two eSIMs that the samples top up and cancel, as the shop would have done last week. The reference is
 * fixed, so that a second start gets the same two (Spec 7, retry rule 1); in a new sandbox their ICCIDs are always
 * those of the samples.
 */
export async function buyDemoEsims(config: Config, clock: Clock): Promise<void> {
  const [key] = config.wholesale.keys;
  if (key === undefined) return;
  const wholesale = createWholesaleClient({
    baseUrl: config.wholesale.baseUrl,
    wire: readWire(config.wholesale.wire),
    clock,
  });
  const facts = {
    operation: 'esim_order',
    reference: 'demo-esims-of-last-week',
    variant: null,
    plan: 'test-plan-fixed',
    iccid: null,
    quantity: 2,
    days: null,
    currency: 'USD',
  } as const;
  try {
    const outcome = await wholesale.submit({
      ...wholesale.render(facts),
      operation: facts.operation,
      keyValue: key.value,
      expect: facts,
    });
    if (outcome.row !== 'accepted' && outcome.row !== 'rate_limited') {
      throw new OrderSyncError('UNREACHABLE', `The embedded sandbox does not sell: ${outcome.message}`, {
        hint: 'remove the data folder to start the demo anew',
      });
    }
  } finally {
    await wholesale.close();
  }
}
