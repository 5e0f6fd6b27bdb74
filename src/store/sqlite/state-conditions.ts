import type { EntryState } from '../../core/entry/states.ts';

/** These two share an index. */
const inAttention: readonly EntryState[] = ['needs_review', 'held'];

/**
 * Conditions that find the entries of these states, each by the index of its few rows. SQLite takes such an index only where the
 * text of the condition is that of the index: otherwise it reads all entries.
 */
export function stateConditions(states: readonly EntryState[]): readonly string[] {
  const alone = states.filter((state) => !inAttention.includes(state)).map((state) => `state = '${state}'`);
  const shared = states.filter((state) => inAttention.includes(state));
  if (shared.length === 0) return alone;
  const both = `state IN ('needs_review', 'held')`;
  return [...alone, shared.length === inAttention.length ? both : `${both} AND state = '${shared[0]}'`];
}
