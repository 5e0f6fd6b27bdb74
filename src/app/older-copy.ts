import type { Clock } from '../core/clock.ts';
import { afterLossMs, olderCopyPause } from '../core/entry/after-loss.ts';
import { reasonForOlderCopy } from '../core/outbox-progress.ts';
import { scopeFrom } from '../core/order/scope.ts';
import type { AfterLossRequest } from '../store/entries/after-loss.ts';
import type { Store } from '../store/store.ts';
import type { BudgetLimits, SubmitSettings } from '../buying/decision/settings.ts';
import { type KeeperDeps, ProgressKeeper, type ProgressPort } from './progress-file.ts';

/** The part of the configuration that says how long the calls of a lost outbox may matter. */
interface AfterLossSettings {
  readonly wholesale: { readonly limits: Pick<BudgetLimits, 'windowMs' | 'transitMs'> };
  readonly submit: Pick<SubmitSettings, 'inFlightWindowMs'>;
}

/**
 * From now on what the lost outbox may have sent is looked up before it is sent. Nothing at all is
 * called at first: calls of the lost outbox may still be on their way, and nobody knows what they
 * left of the budget.
 * @throws OrderSyncError DATABASE_WRITE_FAILED
 */
export async function beginAfterLoss(
  {
    config,
    clock,
  }: { readonly config: AfterLossSettings; readonly clock: Pick<Clock, 'wallMs' | 'steadyMs'> },
  store: Store,
  request: Pick<AfterLossRequest, 'actor' | 'reason' | 'replaced'>,
): Promise<void> {
  const nowMs = clock.wallMs();
  const { windowMs, transitMs } = config.wholesale.limits;
  const waitMs = Math.max(config.submit.inFlightWindowMs, windowMs + transitMs);
  // Paused first: a crash between the two steps has the loss noticed again.
  const { pauses } = store;
  const probeAtMs = clock.steadyMs() + waitMs;
  const message = `calls of the lost outbox may still be in flight: no call is made for ${Math.ceil(waitMs / 1000)} s`;
  await pauses.open({
    scope: 'account',
    reason: olderCopyPause,
    message,
    openedBy: request.actor,
    probeAtMs,
    nowMs,
  });
  // The copy may have been made during another pause of the account, which keeps its reason and may
  // end sooner, or of a key, which would be probed meanwhile.
  for (const stored of await pauses.all()) {
    const isProbed = stored.scope === 'account' || scopeFrom(stored.scope)?.kind === 'key';
    if (isProbed && stored.probeAtMs !== null && stored.probeAtMs < probeAtMs)
      await pauses.postponeProbe(stored.scope, probeAtMs);
  }
  await store.operator.beginAfterLoss({ ...request, nowMs, untilMs: nowMs + afterLossMs });
}

interface OutboxDeps extends Omit<KeeperDeps, 'store'> {
  readonly config: AfterLossSettings;
}

const whatFollows =
  'Every order, also of the next 7 days, is looked up before it is sent. Orders that came in after the copy was made are missing: send these again';

/**
 * Compares the outbox with its progress file, which is kept from then on. If an outbox was lost, or
 * replaced by an older copy, the after-loss mode begins. Called before anything else is done with
 * the outbox.
 * @param operator who says that the outbox was lost; null: nobody
 * @returns `olderCopy`: why the database cannot be the one that was used last; null if it can
 */
export async function noticeOlderCopy(
  deps: OutboxDeps,
  { store, file }: { readonly store: Store; readonly file: ProgressPort },
  operator: string | null = null,
): Promise<{ readonly progress: ProgressKeeper; readonly olderCopy: string | null }> {
  const logger = deps.logger.child({ component: 'outbox' });
  const progress = new ProgressKeeper(file, { ...deps, store, logger });
  const olderCopy = await compare({ ...deps, logger }, store, progress, operator);
  await progress.write();
  return { progress, olderCopy };
}

async function compare(
  deps: OutboxDeps,
  store: Store,
  progress: ProgressKeeper,
  operator: string | null,
) {
  const { logger } = deps;
  const file = progress.read();
  const found = await store.progress();
  const known = file.kind === 'read' ? file.progress : null;
  if (operator !== null) {
    const reason = 'the outbox was lost, or this is an older copy of it';
    await beginAfterLoss(deps, store, { actor: operator, reason, replaced: known });
    return null;
  }
  const notKnown = 'the worker does not know at this start whether the database is an older copy';
  if (file.kind === 'unreadable')
    logger.warn({ error: file.message }, `the progress file cannot be read: ${notKnown}`);
  if (file.kind === 'missing' && found.attempt > 0)
    logger.warn(`there is no progress file: ${notKnown}`);
  const reason = known === null ? null : reasonForOlderCopy(known, found);
  if (reason === null) return null;
  await beginAfterLoss(deps, store, { actor: 'worker', reason, replaced: known });
  logger.error({ known, found }, `${reason}. ${whatFollows}`);
  return reason;
}

/** Why the database cannot be the one that was used last; null if it can. Only looks. */
export async function whyOlderCopy({
  store,
  file,
}: {
  store: Store;
  file: ProgressPort;
}): Promise<string | null> {
  const known = file.read();
  return known.kind === 'read' ? reasonForOlderCopy(known.progress, await store.progress()) : null;
}
