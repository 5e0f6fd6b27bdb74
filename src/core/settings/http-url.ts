/** Whether this is an absolute http(s) URL without credentials, query or fragment: a URL is logged. */
export function isHttpUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return false;
  return url.username === '' && url.password === '' && url.search === '' && url.hash === '';
}

/** A value that may be an address, for people: without user, password, query and fragment, which may be secrets. */
export function withoutUrlSecrets(text: string): string {
  const scheme = /^[a-z][a-z0-9+.-]*:\/\//i.exec(text)?.[0] ?? '';
  const at = text.lastIndexOf('@');
  const hasUser = at >= 0 && (scheme !== '' || text.slice(0, at).includes(':'));
  const plain = hasUser ? `${scheme}***@${text.slice(at + 1)}` : text;
  return scheme === '' ? plain : plain.replace(/([?#]).*$/s, '$1***');
}

const ipv4Loopback = /^127(?:\.(?:\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])){3}$/;

/** Whether traffic to this host stays on this machine. A name such as `x.localhost` may be resolved to another one. */
export function isLoopback(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase();
  return host === 'localhost' || host === '::1' || ipv4Loopback.test(host);
}
