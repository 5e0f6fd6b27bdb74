/**
 * An answer in JSON. Its headers are a plain object on purpose: that goes straight to the socket, where a `Headers` would
 * be made and taken apart again, which costs a tenth of accepting an order.
 */
export function jsonAnswer(value: unknown, status: number, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(JSON.stringify(value), { status, headers: { 'content-type': 'application/json', ...headers } });
}
