import type { Buffer } from 'node:buffer';
import type { OrderFormat } from '../orders/parse-orders.ts';

const unfinished = /^[.~]|\.(?:tmp|part|partial|filepart|writing|crdownload|swp)$/i;
const workName = /^([0-9A-HJKMNP-TV-Z]{26})__(.+)$/;
export const markerSuffix = '.done';

/** Names under which programs write what is not finished yet. */
export function isUnfinishedName(name: string): boolean {
  return unfinished.test(name);
}

export function formatOf(name: string): OrderFormat | null {
  if (/\.json$/i.test(name)) return 'json';
  if (/\.(?:ndjson|jsonl)$/i.test(name)) return 'ndjson';
  if (/\.csv$/i.test(name)) return 'csv';
  return null;
}

/** A name of ours for any name of theirs, which may be 255 bytes of anything: short, plain, with its extension. */
export function safeName(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9._-]+/g, '_').replace(/^\.+/, '_');
  if (plain.length <= 80) return plain === '' ? '_' : plain;
  const extension = /\.[A-Za-z0-9]{1,8}$/.exec(plain)?.[0] ?? '';
  return plain.slice(0, 80 - extension.length) + extension;
}

/** A file name as people read it; bytes that are not UTF-8 show as such. */
export function shownName(name: Buffer): string {
  return name.toString('utf8').replace(/\p{Cc}/gu, '\uFFFD');
}

export function workNameOf(id: string, name: string): string {
  return `${id}__${safeName(name)}`;
}

export function parseWorkName(name: string): { id: string; name: string } | null {
  const match = workName.exec(name);
  return match?.[1] === undefined || match[2] === undefined ? null : { id: match[1], name: match[2] };
}

/** Where a refused file goes: it keeps its extension, and sorts beside its error report. */
export function rejectedNameOf(id: string, name: string): string {
  const safe = safeName(name);
  return `${safe}.${id}${/\.[A-Za-z0-9]{1,8}$/.exec(safe)?.[0] ?? ''}`;
}

export function errorReportNameOf(id: string, name: string): string {
  return `${safeName(name)}.${id}.error.json`;
}
