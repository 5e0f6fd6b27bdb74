import { isIPv6 } from 'node:net';

/** One caller can have all addresses of an IPv6 network of 64 bits, so they count as one. */
export function callerAddress(remote: string): string {
  const address = remote.replace(/^::ffff:/i, '');
  if (!isIPv6(address)) return address;
  const [front = '', back] = address.split('::');
  const groups = front === '' ? [] : front.split(':');
  // `::` stands for as many groups of zeros as are missing.
  const missing = back === undefined ? 0 : 8 - groups.length - (back === '' ? 0 : back.split(':').length);
  return [...groups, ...Array<string>(missing).fill('0')].slice(0, 4).join(':');
}
