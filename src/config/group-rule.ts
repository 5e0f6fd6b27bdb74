import { findGroup, isInGroup } from '../ops/system-groups.ts';
import type { ConfigIssue } from './config-issue.ts';
import { type Origins, valueAt } from './layers.ts';

/** The group of results must exist, and the worker must be allowed to give files to it. */
export function checkResultsGroup(tree: unknown, origins: Origins): ConfigIssue[] {
  const at = ['results', 'group'];
  const group = valueAt(tree, at);
  if (typeof group !== 'string') return [];
  const gid = findGroup(group);
  if (gid === null) {
    return [origins.issueAt(at, `is no group of this machine: create it, or give its number, got "${group}"`)];
  }
  if (isInGroup(gid)) return [];
  const problem = `is a group that the user ${process.getuid?.()} is not in: add the user to it and start the worker anew, got "${group}"`;
  return [origins.issueAt(at, problem)];
}
