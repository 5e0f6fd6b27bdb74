import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { writeFileAtomically } from '../ops/files.ts';
import { BuyingSteps } from '../buying/steps-sql.ts';
import type { Store } from '../store/store.ts';

/*
 * Calls of commands that write nothing to the outbox. The API counts them all the same, so the next
 * process that may write there takes their slots.
 */

const schema = z.array(z.object({ keyName: z.string(), settledMs: z.number() }));

const pathIn = (dataDir: string): string => join(dataDir, 'doctor-calls.json');

export const keepCalls = (dataDir: string, calls: z.infer<typeof schema>): Promise<void> =>
  writeFileAtomically(pathIn(dataDir), JSON.stringify(calls));

/**
 * Takes the slots of the calls that were kept. @param forgets after a crash before that they count
 * twice, which is safer
 */
export async function countKeptCalls(dataDir: string, store: Store, forgets = true): Promise<void> {
  const { budget } = new BuyingSteps(store.outbox);
  for (const { settledMs, keyName } of readCalls(pathIn(dataDir)))
    await budget.settleSlot(await budget.takeSlot(keyName), settledMs);
  if (forgets) rmSync(pathIn(dataDir), { force: true });
}

function readCalls(path: string): z.infer<typeof schema> {
  try {
    return schema.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    // There is none, or not the one that this program wrote.
    return [];
  }
}
