import type { CommandSettings } from '../admin/perform-command.ts';
import type { Config } from '../config/config.ts';
import type { CallingCommand, CommandResult } from '../core/operator/operator-command.ts';
import type { ReadBack } from '../storefronts/read-back/read-back.ts';
import type { ApiClock } from '../submit/api-clock.ts';
import { checkApi, type ApiCheckDeps } from '../submit/check-api.ts';
import { readCatalogue, type CatalogueDeps } from '../submit/read-catalogue.ts';
import { readWire } from '../wholesale/connector/wire.ts';

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

/** What a command needs that calls a shop or the API. */
export interface Callers {
  readonly readBack: ReadBack;
  readonly catalogue: CatalogueDeps & ApiCheckDeps;
  readonly apiClock: Pick<ApiClock, 'read' | 'present'>;
  readonly signal: AbortSignal;
}

/** @throws OrderSyncError NOT_FOUND when no such shop is read back */
export async function performCalls(callers: Callers, command: CallingCommand): Promise<CommandResult> {
  if (command.action === 'read_catalogue') {
    const { variants, plans, withinMs } = command;
    const question = { variants, plans, withinMs, signal: callers.signal };
    return { kind: 'catalogue', ...(await readCatalogue(callers.catalogue, question)) };
  }
  if (command.action === 'check_api') {
    const { keys, withinMs } = command;
    const checked = await checkApi(callers.catalogue, { keys, withinMs, signal: callers.signal });
    return { kind: 'api', keys: checked, aheadMs: callers.apiClock.read().aheadMs };
  }
  const { shop, sinceMs } = command;
  return { kind: 'reconciled', shops: await callers.readBack.run({ shop, sinceMs }) };
}
