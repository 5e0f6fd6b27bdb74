/** An answer; a body that is no text is sent as JSON. */
export interface Answer {
  readonly http: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** `silence`: the connection stays open, and nothing is ever sent. */
export type Reply = Answer | 'silence';

/** The error body of Spec 7. */
export function refusal(http: number, code: string, message = `refused: ${code}`): Answer {
  return { http, body: { error: { code, message } } };
}

/** The answer of a proxy. */
export function page(http: number): Answer {
  return {
    http,
    body: `<html><body><h1>HTTP ${http}</h1></body></html>`,
    headers: { 'content-type': 'text/html' },
  };
}
