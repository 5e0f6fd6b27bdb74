import type { CommandSettings } from '../admin/perform-command.ts';
import type { Config } from '../config/config.ts';
import type { CallingCommand, CommandResult } from '../core/operator/operator-command.ts';
import type { ReadBack } from '../storefronts/read-back/read-back.ts';
import { checkApi } from '../submit/probes.ts';
import { readCatalogue } from '../submit/read-catalogue.ts';
import { readWire } from '../wholesale/connector/wire.ts';
import type { Submission } from './worker-deps.ts';

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

/** The settings that commands depend on. */
export function commandSettings({ wholesale, submit }: Config): CommandSettings {
  const { lookup } = readWire(wholesale.wire);
  const families = ['gift_card', 'esim'] as const;
  return {
    keyNames: wholesale.keys.map((key) => key.name),
    referenceExpiryMs: submit.referenceExpiryMs,
    lookupFamilies: families.filter((family) => lookup[family] !== 'off'),
  };
}

/** The dependencies of a command that calls a shop or the API. */
interface Callers {
  readonly readBack: ReadBack;
  readonly submission: Submission;
}

/** @throws OrderSyncError NOT_FOUND when no such shop is read back */
export async function performCalls(
  { readBack, submission }: Callers,
  command: CallingCommand,
  signal: AbortSignal,
): Promise<CommandResult> {
  if (command.action === 'read_catalogue') {
    const { variants, plans, withinMs } = command;
    const question = { variants, plans, withinMs, signal };
    return { kind: 'catalogue', ...(await readCatalogue(submission, question)) };
  }
  if (command.action === 'check_api') {
    const { keys, withinMs } = command;
    const checked = await checkApi(submission, { keys, withinMs, signal });
    return { kind: 'api', keys: checked, aheadMs: submission.apiClock.read().aheadMs };
  }
  const { shop, sinceMs } = command;
  return { kind: 'reconciled', shops: await readBack.run({ shop, sinceMs }) };
}
