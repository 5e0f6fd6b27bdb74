/** Every reason to refuse a request. Codes are stable: match on them, never on the text. */
export const problemKinds = {
  invalid_json: { status: 400, title: 'The body is not valid JSON' },
  incomplete: { status: 400, title: 'The body did not arrive completely' },
  unauthorized: { status: 401, title: 'No valid token or signature' },
  source_not_allowed: { status: 403, title: 'The token or secret belongs to another source' },
  esim_of_other_source: { status: 403, title: 'The source did not buy the eSIM' },
  scope_not_allowed: { status: 403, title: 'The token has no permission for this action' },
  not_found: { status: 404, title: 'There is no such order or address' },
  method_not_allowed: { status: 405, title: 'The address does not support this method' },
  conflict: { status: 409, title: 'The order was accepted before with other content' },
  already_sent: { status: 409, title: 'The order can no longer be cancelled' },
  too_large: { status: 413, title: 'The body is too large' },
  unsupported_media_type: { status: 415, title: 'The body must be plain JSON' },
  invalid_order: { status: 422, title: 'The request has mistakes; no order of it was accepted' },
  rate_limited: { status: 429, title: 'Too many requests from this caller' },
  internal: { status: 500, title: 'An error of the worker' },
  overloaded: { status: 503, title: 'Too many requests wait for the disk' },
  unavailable: { status: 503, title: 'The worker accepts no orders at the moment' },
} as const;

type ProblemCode = keyof typeof problemKinds;

/**
 * One mistake in a document: its place as a JSON pointer in a URI fragment, as RFC 9457 shows it.
 */
export interface DocumentMistake {
  readonly pointer: string;
  readonly code: string;
  readonly detail: string;
  /** The wrong value, cut to a limit; absent when there is none. */
  readonly value?: string;
}

/**
 * Thrown to refuse a request. `webhook-intake.ts` turns it into an answer. It is no failure of the
 * worker, so it is not logged.
 */
export class HttpProblem extends Error {
  readonly code: ProblemCode;
  readonly headers: Readonly<Record<string, string>>;
  readonly extensions: Readonly<Record<string, unknown>>;

  constructor(
    code: ProblemCode,
    detail: string,
    { headers = {}, extensions = {} }: Partial<Pick<HttpProblem, 'headers' | 'extensions'>> = {},
  ) {
    super(detail);
    this.name = 'HttpProblem';
    this.code = code;
    this.headers = headers;
    this.extensions = extensions;
  }
}

/**
 * The answer to a refused request: `application/problem+json` (RFC 9457). Its type links to the
 * page that explains it.
 */
export function problemResponse({
  code,
  message: detail,
  headers,
  extensions,
}: HttpProblem): Response {
  const { status, title } = problemKinds[code];
  const problem = { type: `/docs#${code}`, title, status, detail, code, ...extensions };
  const body = `${JSON.stringify(problem)}\n`;
  return new Response(body, {
    status,
    headers: { 'content-type': 'application/problem+json', ...headers },
  });
}
