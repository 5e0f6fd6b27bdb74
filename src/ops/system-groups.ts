import { readFileSync } from 'node:fs';

const groupsFile = '/etc/group';

/**
 * The number of a group, given its name or number; null: none. Groups of a directory service are
 * given by number.
 */
export function findGroup(group: string): number | null {
  if (/^\d{1,10}$/.test(group)) return Number(group);
  const line = readFileSync(groupsFile, 'utf8')
    .split('\n')
    .find((text) => text.startsWith(`${group}:`));
  const gid = line?.split(':')[2] ?? '';
  return /^\d+$/.test(gid) ? Number(gid) : null;
}

/** Whether this process may give its files to a group: it must be in it, unless it is root. */
export function isInGroup(gid: number): boolean {
  return (
    process.getuid?.() === 0 ||
    process.getegid?.() === gid ||
    process.getgroups?.().includes(gid) === true
  );
}
