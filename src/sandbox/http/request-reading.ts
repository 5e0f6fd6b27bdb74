import type * as z from 'zod';
import type { Call, Progress } from '../orders/call.ts';
import { isPurchase } from '../orders/operations.ts';
import type { SandboxState } from '../orders/sandbox-state.ts';
import { type Answer, refusal } from './answers.ts';
import { cancelRequest, esimOrderRequest, giftCardOrderRequest, topupRequest } from './wire.ts';

const orderRequests = { gift_card_order: giftCardOrderRequest, esim_order: esimOrderRequest, esim_topup: topupRequest };

/** Spec 7, `invalid_request`: a field is missing or malformed. Values out of range have codes of their own. */
export function readRequest(call: Call, progress: Progress, { settings }: SandboxState): Answer | null {
  const { operation, subject, body } = call;
  if (!isPurchase(operation) && operation !== 'esim_cancel') return null;
  if ('problem' in body) return refusal(422, 'invalid_request', body.problem);
  const ignoresUnknown = settings.requests.unknown_fields === 'ignore';
  if (operation === 'esim_cancel') {
    const parsed = (ignoresUnknown ? cancelRequest.strip() : cancelRequest).safeParse(body.json);
    return parsed.success ? null : refusal(422, 'invalid_request', firstProblem(parsed.error));
  }
  const schema = orderRequests[operation];
  const parsed = (ignoresUnknown ? schema.strip() : schema).safeParse(body.json);
  if (!parsed.success) return refusal(422, 'invalid_request', firstProblem(parsed.error));
  const order = { quantity: 1, days: undefined, ...parsed.data };
  const { reference, quantity, days, currency } = order;
  const item = 'variant' in order ? order.variant : order.plan;
  const fingerprint = JSON.stringify([operation, subject, item, quantity, days ?? null, currency]);
  progress.purchase = { reference, item, quantity, days, currency, fingerprint };
  const longest = settings.references.max_length;
  if (reference.length <= longest) return null;
  return refusal(422, 'invalid_request', `reference: at most ${longest} characters are allowed.`);
}

function firstProblem(error: z.ZodError): string {
  const issue = error.issues[0];
  if (issue === undefined) return 'The body is malformed.';
  const place = issue.path.length === 0 ? 'body' : issue.path.join('.');
  // The issue can quote a field name of the caller, which can be of any length.
  return `${place}: ${issue.message}`.slice(0, 300);
}
