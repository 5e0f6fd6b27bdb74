import { isIPv4, isIPv6 } from 'node:net';

/** One spelling per address: IPv6 compressed and in small letters, IPv4 also when it arrives mapped into IPv6. */
export function canonicalAddress(address: string): string {
  const bare = address.replace(/^\[|\]$/g, '').replace(/%.*$/, '');
  if (isIPv4(bare) || !isIPv6(bare)) return bare;
  const compressed = new URL(`http://[${bare}]`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(compressed);
  if (mapped === null) return compressed;
  const high = Number.parseInt(mapped[1] ?? '0', 16);
  const low = Number.parseInt(mapped[2] ?? '0', 16);
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

export function isLoopback(address: string): boolean {
  const canonical = canonicalAddress(address);
  return canonical === '::1' || canonical.startsWith('127.');
}
