import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type BulkAction,
  type BulkFilter,
  type CommandResult,
  mostInRun,
  mostInStep,
  type OperatorCommand,
} from '../core/operator/operator-command.ts';
import { counted } from '../core/counts.ts';
import type { Affected } from '../core/operator/affected.ts';
import { OrderSyncError } from '../core/order-sync-error.ts';
import type { BulkResult } from '../store/operator/entry-command.ts';
import type { FoundEntries } from '../store/read/bulk-entries.ts';
import type { OutboxReader } from '../store/read/outbox-reader.ts';

type BulkCommand = Extract<OperatorCommand, { action: 'bulk' }>;

export interface BulkPreview {
  readonly found: readonly FoundEntries[];
  /** How many entries fit, at most as many as are counted of each state. */
  readonly matched: number;
  readonly references: readonly string[];
  readonly affects: Affected;
}

export function previewBulk(
  read: Pick<OutboxReader, 'findForBulk' | 'affected'>,
  { order, which }: { readonly order: BulkAction; readonly which: BulkFilter },
): BulkPreview {
  const found = read.findForBulk(order, which, mostInRun);
  const references = found.flatMap((it) => it.references);
  const matched = found.reduce((sum, { count }) => sum + count, 0);
  return { found, matched, references, affects: read.affected(references) };
}

/** How many entries of each state a preview found. */
export const statesOf = ({ found }: BulkPreview): Record<string, number> =>
  Object.fromEntries(found.map(({ state, count }) => [state, count]));

/**
 * Each new reference can buy once more, so the operator repeats how many entries there are.
 * @throws OrderSyncError NOT_ALLOWED when there are not as many, or not any more
 */
export function requireCount({ references }: BulkPreview, typed: string): void {
  if (typed === String(references.length)) return;
  const { length } = references;
  const message = `${counted(length, 'entry', 'entries')} would be ordered again: confirm with ${length}, not with "${typed.slice(0, 20)}"`;
  throw new OrderSyncError('NOT_ALLOWED', message, {
    hint: 'nothing was changed: look at the entries again before you confirm',
  });
}

/**
 * Performs a command for many entries, in steps. Each step is on disk before the next one begins:
 * when it is interrupted, what was done is done once, and the rest is as it was. What
 * is ordered again is a step of its own: each is a purchase.
 */
export async function runBulk(
  request: Omit<BulkCommand, 'action' | 'references'>,
  references: readonly string[],
  perform: (command: BulkCommand) => Promise<CommandResult>,
): Promise<BulkResult> {
  const changed: string[] = [];
  const refused: BulkResult['refused'][number][] = [];
  const size = request.order === 'reorder' ? 1 : mostInStep;
  for (let start = 0; start < references.length; start += size) {
    const step = references.slice(start, start + size);
    // The worker goes on in between.
    await nextTurn();
    const result = await perform({ action: 'bulk', ...request, references: step });
    if (result.kind !== 'bulk') continue;
    changed.push(...result.changed);
    refused.push(...result.refused);
  }
  return { changed, refused };
}
