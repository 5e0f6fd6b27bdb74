import type { ListenAddress } from './config.ts';

/** `host:port` in its parts, an IPv6 host without its brackets. */
export function toListenAddress(text: string): ListenAddress {
  const colon = text.lastIndexOf(':');
  return { host: text.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(text.slice(colon + 1)) };
}
