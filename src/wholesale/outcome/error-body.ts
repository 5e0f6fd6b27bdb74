import { isJsonObject, type ExactJson } from '../../core/exact-json.ts';

/** What Spec 7 shows: `{"error": {"code": <string>, "message": <string>}}`. */
export interface ErrorBody {
  readonly code: string;
  /** Null when it is missing, which the specification does not allow but which leaves the code readable. */
  readonly message: string | null;
}

/** Whether an answer has an `error`, has none, or has one that is not what Spec 7 shows. */
export type ErrorReading =
  | { readonly kind: 'error'; readonly error: ErrorBody }
  | { readonly kind: 'none' }
  | { readonly kind: 'strange' };

export function readErrorBody(answer: ExactJson | undefined): ErrorReading {
  if (!isJsonObject(answer)) return { kind: 'strange' };
  const error = Object.hasOwn(answer, 'error') ? answer['error'] : undefined;
  if (error === undefined || error === null || error === false) return { kind: 'none' };
  const code = isJsonObject(error) && Object.hasOwn(error, 'code') ? error['code'] : undefined;
  // Gateways speak in the same shape, but with the HTTP status as their code: that is not this API.
  if (!isJsonObject(error) || typeof code !== 'string' || !/^\D/.test(code)) return { kind: 'strange' };
  const message = Object.hasOwn(error, 'message') ? error['message'] : undefined;
  return { kind: 'error', error: { code, message: typeof message === 'string' ? message : null } };
}
