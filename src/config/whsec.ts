import { Buffer } from 'node:buffer';

/** What is wrong with a secret of the Standard Webhooks scheme; null: nothing. Its libraries accept no other secrets. */
export function problemOfWhsec(secret: string): string | null {
  const rule = 'must be whsec_ and base64 of 24 to 64 bytes, for example from: openssl rand -base64 32';
  const encoded = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret)?.[1];
  if (encoded === undefined) return rule;
  const bytes = Buffer.from(encoded, 'base64').length;
  return bytes >= 24 && bytes <= 64 ? null : rule;
}
