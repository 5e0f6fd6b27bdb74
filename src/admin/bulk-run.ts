import {
  type BulkAction,
  type BulkFilter,
  type CommandResult,
  mostInRun,
  mostInStep,
  type OperatorCommand,
} from '../core/operator/operator-command.ts';
import type { BulkResult } from '../store/operator/entry-command.ts';
import type { FoundEntries } from '../store/read/bulk-entries.ts';
import type { OutboxReader } from '../store/read/outbox-reader.ts';

type BulkCommand = Extract<OperatorCommand, { action: 'bulk' }>;

export interface BulkPreview {
  readonly found: readonly FoundEntries[];
  /** How many entries fit, at most as many as are counted of each state. */
  readonly matched: number;
  readonly references: readonly string[];
}

export function previewBulk(
  read: Pick<OutboxReader, 'findForBulk'>,
  { order, which }: { readonly order: BulkAction; readonly which: BulkFilter },
): BulkPreview {
  const found = read.findForBulk(order, which, mostInRun);
  return {
    found,
    matched: found.reduce((sum, { count }) => sum + count, 0),
    references: found.flatMap(({ references }) => references),
  };
}

/** How many entries of each state a preview found. */
export const statesOf = ({ found }: BulkPreview): Record<string, number> =>
  Object.fromEntries(found.map(({ state, count }) => [state, count]));

/**
 * Performs a command for many entries, in steps. Each step is on disk before the next one begins:
 * when it is interrupted, what was done is done once, and the rest is as it was.
 */
export async function runBulk(
  request: Omit<BulkCommand, 'action' | 'references'>,
  references: readonly string[],
  perform: (command: BulkCommand) => Promise<CommandResult>,
): Promise<BulkResult> {
  const changed: string[] = [];
  const refused: BulkResult['refused'][number][] = [];
  for (let start = 0; start < references.length; start += mostInStep) {
    const step = references.slice(start, start + mostInStep);
    const result = await perform({ action: 'bulk', ...request, references: step });
    if (result.kind !== 'bulk') continue;
    changed.push(...result.changed);
    refused.push(...result.refused);
  }
  return { changed, refused };
}
