import type { Clock } from '../core/clock.ts';
import { afterLossMs, olderCopyPause } from '../core/decision/after-loss.ts';
import { scopeFrom } from '../core/scopes/scope.ts';
import type { AfterLossRequest } from '../store/operator/operator.ts';
import type { Store } from '../store/store.ts';
import type { BudgetLimits, SubmitSettings } from '../submit/settings.ts';

/** The part of the configuration that says how long the calls of a lost outbox may matter. */
export interface AfterLossSettings {
  readonly wholesale: { readonly limits: Pick<BudgetLimits, 'windowMs' | 'transitMs'> };
  readonly submit: Pick<SubmitSettings, 'settlementDelayMs'>;
}

/**
 * From now on what the lost outbox may have sent is looked up before it is sent. Nothing at all is called at first: calls of
 * the lost outbox may still be on their way, and nobody knows what they left of the budget.
 * @throws OrderSyncError DATABASE_WRITE_FAILED
 */
export async function beginAfterLoss(
  { config, clock }: { readonly config: AfterLossSettings; readonly clock: Pick<Clock, 'wallMs'> },
  store: Store,
  request: Pick<AfterLossRequest, 'actor' | 'reason' | 'replaced'>,
): Promise<void> {
  const nowMs = clock.wallMs();
  const { windowMs, transitMs } = config.wholesale.limits;
  const waitMs = Math.max(config.submit.settlementDelayMs, windowMs + transitMs);
  // Paused first: a crash between the two steps has the loss noticed again.
  await pauseAccount(store, { openedBy: request.actor, waitMs, nowMs });
  await store.operator.beginAfterLoss({ ...request, nowMs, untilMs: nowMs + afterLossMs });
}

async function pauseAccount(
  store: Store,
  { openedBy, waitMs, nowMs }: { openedBy: string; waitMs: number; nowMs: number },
): Promise<void> {
  const { pauses } = store.submission;
  const probeAtMs = nowMs + waitMs;
  const message = `calls that are not known here may still be on their way: nothing is called for ${Math.ceil(waitMs / 1000)} s`;
  await pauses.open({ scope: 'account', reason: olderCopyPause, message, openedBy, probeAtMs, nowMs });
  // The copy may have been made during another pause of the account, which keeps its reason and may end sooner, or of a
  // key, which would be probed meanwhile.
  for (const stored of await pauses.all()) {
    const isProbed = stored.scope === 'account' || scopeFrom(stored.scope)?.kind === 'key';
    if (isProbed && stored.probeAtMs !== null && stored.probeAtMs < probeAtMs)
      await pauses.postponeProbe(stored.scope, probeAtMs);
  }
}
