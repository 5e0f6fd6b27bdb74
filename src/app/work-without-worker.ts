import { shopIdentities } from '../config/shop-identities.ts';
import type { CallingCommand, CommandResult } from '../core/entry/operator-command.ts';
import type { Store } from '../store/store.ts';
import { buildReadBack, buildStorefronts } from './build-storefronts.ts';
import { buildSubmission, buildWholesaleClient } from './build-submission.ts';
import { performCalls } from './commands.ts';
import type { WorkerDeps } from './worker-deps.ts';

/**
 * Performs a command that calls a shop or the API while no worker runs, within what the last worker left of the budget.
 * @throws OrderSyncError NOT_FOUND when no such shop is read back
 */
export async function performCallsWithoutWorker(
  deps: WorkerDeps,
  store: Store,
  command: CallingCommand,
): Promise<CommandResult> {
  const { config, clock } = deps;
  const bootId = clock.bootId ?? null;
  await store.storefronts.adoptShops({ shops: shopIdentities(config), nowMs: clock.wallMs() });
  const intake = buildStorefronts(deps, store, config, () => undefined);
  const wholesale = buildWholesaleClient(deps);
  const readBack = buildReadBack(deps, store, { intake });
  try {
    const submission = await buildSubmission(deps, store, wholesale, { config });
    const { gate } = submission;
    gate.restore(await store.submission.budget.restoreSlots({ settledMono: gate.restartSettlesAtMs(), bootId }));
    gate.restoreBackOffs(await store.submission.budget.restoreBackOffs({ nowMono: clock.monoMs(), bootId }));
    const { signal } = new AbortController();
    return await performCalls({ readBack, catalogue: { ...submission, wholesale }, signal }, command);
  } finally {
    await readBack.stop();
    await wholesale.close();
  }
}
