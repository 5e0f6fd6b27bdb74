import type { Buffer } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import type { Clock } from '../../core/clock.ts';
import { safeFileName } from '../../core/order/order-file-names.ts';
import type { OrderFormat } from '../orders/settings.ts';

const unfinished = /^[.~]|\.(?:tmp|part|partial|filepart|writing|crdownload|swp)$/i;
export const markerSuffix = '.done';

/** Whether programs use such a name while they are still writing a file. */
export function isUnfinishedName(name: string): boolean {
  return unfinished.test(name);
}

export function formatOf(name: string): OrderFormat | null {
  if (/\.json$/i.test(name)) return 'json';
  if (/\.(?:ndjson|jsonl)$/i.test(name)) return 'ndjson';
  if (/\.csv$/i.test(name)) return 'csv';
  return null;
}

/** A file name for logs and reports; bytes that are not UTF-8 become replacement characters. */
export function shownName(name: Buffer): string {
  return name.toString('utf8').replace(/\p{Cc}/gu, '\uFFFD');
}

const base32 = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** A ULID: 48 bits of time, then 80 random bits. It is unique, and ids sort by time. */
export function newFileId(clock: Clock): string {
  const time = BigInt(Math.max(0, Math.trunc(clock.wallMs()))) & 0xffffffffffffn;
  const bits = (time << 80n) | BigInt(`0x${randomBytes(10).toString('hex')}`);
  const digits = bits.toString(32).padStart(26, '0');
  return digits.replace(/./g, (digit) => base32[Number.parseInt(digit, 32)] ?? '0');
}

/** The name of a claimed file in the work folder. */
export function workNameOf(id: string, name: string): string {
  return `${id}__${safeFileName(name)}`;
}

export function parseWorkName(name: string): { id: string; name: string } | null {
  const match = /^([0-9A-HJKMNP-TV-Z]{26})__(.+)$/.exec(name);
  return match?.[1] === undefined || match[2] === undefined ? null : { id: match[1], name: match[2] };
}

export function errorReportNameOf(id: string, name: string): string {
  return `${safeFileName(name)}.${id}.error.json`;
}
