import type { EntryState } from '../../core/entry/states.ts';

/**
 * Conditions that find the entries of these states and of those that need a person, each by the index of its few rows. SQLite
 * takes such an index only where the text of the condition is that of the index: otherwise it reads all entries.
 */
export function conditionsOfStates(...states: readonly EntryState[]): readonly string[] {
  return [...states.map((state) => `state = '${state}'`), "state IN ('needs_review', 'held')"];
}
