import { performCommand, type CommandSettings } from '../admin/perform-command.ts';
import type { Config } from '../config/config.ts';
import { shopIdentities } from '../config/shop-identities.ts';
import {
  isCalling,
  type CallingCommand,
  type CommandResult,
  type ExplainCommand,
  type OperatorCommand,
} from '../core/operator/operator-command.ts';
import { OrderSyncError } from '../core/order-sync-error.ts';
import { SteadyClock } from '../ops/system-clock.ts';
import type { ReadBack } from '../storefronts/read-back/read-back.ts';
import { ShopConnections } from '../storefronts/shop-connections.ts';
import type { Store } from '../store/store.ts';
import { ApiClock } from '../buying/proofs/api-clock.ts';
import { checkApi } from '../buying/proofs/probes.ts';
import { readCatalogue } from '../buying/proofs/read-catalogue.ts';
import { readWire } from '../wholesale/connector/wire.ts';
import { buildReadBack, buildStorefronts } from './build-intake.ts';
import { buildSubmission, buildWholesaleClient } from './build-submission.ts';
import { BuyingSteps } from '../buying/steps-sql.ts';
import { countKeptCalls, keepCalls } from './doctor-calls.ts';
import { noticeOlderCopy, whyOlderCopy } from './older-copy.ts';
import { openOutbox } from './open-outbox.ts';
import type { MachineDeps, PartDeps, SubmissionParts } from './worker-deps.ts';

/** API calls for commands of people. `stop` aborts them and waits until their ends are recorded. */
export class CommandCalls {
  readonly #abort = new AbortController();
  readonly #open = new Set<Promise<unknown>>();

  async run<T>(call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const running = call(this.#abort.signal);
    this.#open.add(running);
    try {
      return await running;
    } finally {
      this.#open.delete(running);
    }
  }

  /** May be called again. Never throws: the caller of `run` gets the failure of its call. */
  async stop(): Promise<void> {
    this.#abort.abort();
    await Promise.allSettled(this.#open);
  }
}

export function commandSettings({ wholesale, submit }: Config): CommandSettings {
  const { lookup } = readWire(wholesale.wire);
  const families = ['gift_card', 'esim'] as const;
  return {
    keyNames: wholesale.keys.map((key) => key.name),
    referenceExpiryMs: submit.referenceExpiryMs,
    lookupFamilies: families.filter((family) => lookup[family] !== 'off'),
  };
}

export async function performCalls(
  { readBack, submission }: { readonly readBack: ReadBack; readonly submission: SubmissionParts },
  command: CallingCommand,
  signal: AbortSignal,
): Promise<CommandResult> {
  if (command.action === 'read_catalogue') {
    return { kind: 'catalogue', ...(await readCatalogue(submission, { ...command, signal })) };
  }
  if (command.action === 'check_api') {
    const keys = await checkApi(submission, { ...command, signal });
    return { kind: 'api', keys, aheadMs: submission.apiClock.read().aheadMs };
  }
  return { kind: 'reconciled', shops: await readBack.run(command) };
}

type CommandDeps = Omit<PartDeps, 'metrics'>;

/**
 * Performs a command while no worker runs, as the only writer of the outbox.
 * @param onOlderCopy called where the outbox is an older copy, before the command is performed
 * @throws OrderSyncError DATABASE_LOCKED when a worker runs; what the command refuses
 */
export async function performWithoutWorker(
  given: MachineDeps,
  command: Exclude<OperatorCommand, ExplainCommand>,
  onOlderCopy: (reason: string) => void,
): Promise<CommandResult> {
  const deps = { ...given, clock: new SteadyClock(given.clock) };
  if (command.action === 'check_api') return await checkApiWithoutWorker(deps, command);
  const opened = openOutbox(deps.config, 'never');
  const { store } = opened;
  try {
    await store.continueTime(deps.clock);
    const { progress, olderCopy } = await noticeOlderCopy(deps, opened);
    if (olderCopy !== null) onOlderCopy(olderCopy);
    await countKeptCalls(deps.config.dataDir, store);
    const result = isCalling(command)
      ? await performCallsWithoutWorker(deps, store, command)
      : await performCommand(store, command, commandSettings(deps.config), deps.clock);
    await progress.write();
    return result;
  } finally {
    await store.close();
  }
}

/**
 * Asks the API within what the last worker left of the budget, and writes nothing to the outbox.
 */
async function checkApiWithoutWorker(
  deps: CommandDeps,
  command: CallingCommand,
): Promise<CommandResult> {
  const { clock, config } = deps;
  const { dataDir } = config;
  const opened = openOutbox(config, 'never', undefined, true);
  try {
    const older = await whyOlderCopy(opened);
    if (older !== null)
      throw new OrderSyncError('NOT_ALLOWED', `the API was not asked: ${older}`, {
        hint: startTheWorker,
      });
    await opened.store.continueTime(clock);
    const { budget } = new BuyingSteps(opened.store.outbox);
    const slots = () => budget.restoreSlots(clock.steadyMs());
    const known = new Set((await slots()).map((slot) => JSON.stringify(slot)));
    await countKeptCalls(dataDir, opened.store, false);
    try {
      return await performCallsWithoutWorker(deps, opened.store, command);
    } finally {
      await keepCalls(
        dataDir,
        (await slots()).filter((slot) => !known.has(JSON.stringify(slot))),
      );
    }
  } finally {
    await opened.store.close();
  }
}

const startTheWorker =
  'start the worker, which looks up first what the lost outbox may have bought';

/**
 * Calls a shop or the API, within what the last worker left of the budget. The next worker buys
 * what this takes in.
 */
async function performCallsWithoutWorker(
  deps: CommandDeps,
  store: Store,
  command: CallingCommand,
): Promise<CommandResult> {
  const { config, clock } = deps;
  if (command.action !== 'check_api')
    await store.storefronts.adoptShops({ shops: shopIdentities(config), nowMs: clock.wallMs() });
  const intake = buildStorefronts(deps, store, config, () => undefined);
  const apiClock = new ApiClock(clock);
  const wholesale = buildWholesaleClient(deps, apiClock);
  const readBack = buildReadBack(deps, store, { intake }, new ShopConnections(deps));
  try {
    const submission = await buildSubmission(deps, store, wholesale, apiClock, { config });
    const { gate, steps } = submission;
    gate.restore(await steps.budget.restoreSlots(gate.restartSettlesAtMs()));
    gate.restoreBackOffs(await steps.budget.restoreBackOffs());
    return await performCalls({ readBack, submission }, command, new AbortController().signal);
  } finally {
    await readBack.stop();
    await wholesale.close();
  }
}
