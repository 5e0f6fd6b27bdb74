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

interface BulkRequest {
  readonly order: BulkAction;
  readonly which: BulkFilter;
  readonly actor: string;
  readonly reason: string;
}

type BulkCommand = Extract<OperatorCommand, { action: 'bulk' }>;

/** The entries that a run would change. */
export interface BulkPreview {
  readonly found: readonly FoundEntries[];
  /** How many entries fit, at most as many as are counted of each state. */
  readonly matched: number;
  /** The entries of one run, in no particular order. */
  readonly references: readonly string[];
}

export function previewBulk(
  read: Pick<OutboxReader, 'findForBulk'>,
  { order, which }: Pick<BulkRequest, 'order' | 'which'>,
): BulkPreview {
  const found = read.findForBulk(order, which, mostInRun);
  return {
    found,
    matched: found.reduce((sum, { count }) => sum + count, 0),
    references: found.flatMap(({ references }) => references),
  };
}

/**
 * Performs a command for many entries, in steps. Each step is on disk before the next one begins: when it is interrupted, what
 * was done is done once, and the rest is as it was.
 */
export async function runBulk(
  request: BulkRequest,
  references: readonly string[],
  parts: {
    readonly perform: (command: BulkCommand) => Promise<CommandResult>;
  },
): Promise<BulkResult> {
  const changed: string[] = [];
  const refused: BulkResult['refused'][number][] = [];
  for (let start = 0; start < references.length; start += mostInStep) {
    const step = references.slice(start, start + mostInStep);
    const result = await parts.perform({ action: 'bulk', ...request, references: step });
    if (result.kind === 'bulk') {
      changed.push(...result.changed);
      refused.push(...result.refused);
    }
  }
  return { changed, refused };
}
