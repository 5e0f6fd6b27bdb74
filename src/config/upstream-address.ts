/** True for an absolute http(s) URL that names nothing but a place: credentials in a URL end up in logs. */
export function isHttpUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return false;
  return url.username === '' && url.password === '' && url.search === '' && url.hash === '';
}

/** True when the traffic cannot leave this machine. */
export function isLoopback(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase();
  return host === 'localhost' || host.endsWith('.localhost') || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}
