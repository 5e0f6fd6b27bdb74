import { randomBytes } from 'node:crypto';
import type { Clock } from '../../core/clock.ts';
import { safeFileName } from '../../core/order/order-file-names.ts';
import type { OrderFormat } from '../orders/settings.ts';

export const markerSuffix = '.done';

export function formatOf(name: string): OrderFormat | null {
  if (/\.json$/i.test(name)) return 'json';
  if (/\.(?:ndjson|jsonl)$/i.test(name)) return 'ndjson';
  if (/\.(?:csv|tsv|txt)$/i.test(name)) return 'csv';
  return null;
}

const base32 = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** A ULID: 48 bits of time, then 80 random bits. It is unique, and ids sort by time. */
export function newFileId(clock: Clock): string {
  const time = BigInt(Math.max(0, Math.trunc(clock.wallMs()))) & 0xffffffffffffn;
  const bits = (time << 80n) | BigInt(`0x${randomBytes(10).toString('hex')}`);
  const digits = bits.toString(32).padStart(26, '0');
  return digits.replace(/./g, (digit) => base32[Number.parseInt(digit, 32)] ?? '0');
}

export function workNameOf(id: string, name: string): string {
  return `${id}__${safeFileName(name)}`;
}

export function parseWorkName(name: string): { id: string; name: string } | null {
  const match = /^([0-9A-HJKMNP-TV-Z]{26})__(.+)$/.exec(name);
  return match?.[1] === undefined || match[2] === undefined
    ? null
    : { id: match[1], name: match[2] };
}

export function errorReportNameOf(id: string, name: string): string {
  return `${safeFileName(name)}.${id}.error.json`;
}
