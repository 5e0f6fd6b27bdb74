import { ShopConnections } from '../storefronts/shop-connections.ts';
import { shopIdentities } from '../config/shop-identities.ts';
import { performCommand } from '../admin/perform-command.ts';
import {
  isCalling,
  type CallingCommand,
  type CommandResult,
  type ExplainCommand,
  type OperatorCommand,
} from '../core/operator/operator-command.ts';
import { ContinuousClock } from '../ops/system-clock.ts';
import type { Store } from '../store/store.ts';
import { ApiClock } from '../submit/api-clock.ts';
import { buildReadBack, buildStorefronts } from './build-storefronts.ts';
import { buildSubmission, buildWholesaleClient } from './build-submission.ts';
import { ClockFollower } from './clock-follower.ts';
import { commandSettings, performCalls } from './commands.ts';
import { noticeOlderCopy } from './older-copy.ts';
import { openOutbox } from './open-outbox.ts';
import type { WorkerDeps } from './worker-deps.ts';

/**
 * Performs a command while no worker runs, as the only writer of the outbox.
 * @param onOlderCopy called where the outbox is an older copy, before the command is performed
 * @throws OrderSyncError DATABASE_LOCKED when a worker runs; what the command refuses
 */
export async function performWithoutWorker(
  given: WorkerDeps,
  command: Exclude<OperatorCommand, ExplainCommand>,
  onOlderCopy: (reason: string) => void,
): Promise<CommandResult> {
  const clock = new ContinuousClock(given.clock);
  const deps: WorkerDeps = { ...given, clock };
  const opened = openOutbox(deps.config, 'never');
  const { store } = opened;
  try {
    await new ClockFollower({ store, clock, logger: deps.logger }).catchUp();
    const { progress, olderCopy } = await noticeOlderCopy(deps, opened);
    if (olderCopy !== null) onOlderCopy(olderCopy);
    const result = isCalling(command)
      ? await performCallsWithoutWorker(deps, store, command)
      : await performCommand(store, command, commandSettings(deps.config), deps.clock);
    await progress.write();
    return result;
  } finally {
    await store.close();
  }
}

/** Calls a shop or the API, within what the last worker left of the budget. The next worker buys what this takes in. */
async function performCallsWithoutWorker(
  deps: WorkerDeps,
  store: Store,
  command: CallingCommand,
): Promise<CommandResult> {
  const { config, clock } = deps;
  const bootId = clock.bootId ?? null;
  await store.storefronts.adoptShops({ shops: shopIdentities(config), nowMs: clock.wallMs() });
  const intake = buildStorefronts(deps, store, config, () => undefined);
  const apiClock = new ApiClock(clock);
  const wholesale = buildWholesaleClient(deps, apiClock);
  const readBack = buildReadBack(deps, store, { intake }, new ShopConnections(deps));
  try {
    const submission = await buildSubmission(deps, store, wholesale, apiClock, { config });
    const { gate } = submission;
    gate.restore(await store.submission.budget.restoreSlots({ settledMono: gate.restartSettlesAtMs(), bootId }));
    gate.restoreBackOffs(await store.submission.budget.restoreBackOffs({ nowMono: clock.monoMs(), bootId }));
    const { signal } = new AbortController();
    return await performCalls({ readBack, submission }, command, signal);
  } finally {
    await readBack.stop();
    await wholesale.close();
  }
}
