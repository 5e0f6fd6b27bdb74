import type * as z from 'zod';
import { type Answer, refusal } from './answers.ts';
import type { Call, Progress, Purchase } from '../orders/call.ts';
import type { Shelf } from '../orders/sandbox-state.ts';
import { cancelRequest, esimOrderRequest, giftCardOrderRequest, topupRequest } from './wire.ts';

/** Spec 7, `invalid_request`: a field is missing or malformed. Values out of range have codes of their own. */
export function readRequest(call: Call, progress: Progress, shelf: Shelf): Answer | null {
  const refused = readBody(call, progress, shelf);
  const longest = shelf.settings.references.max_length;
  if (refused !== null || (progress.purchase?.reference.length ?? 0) <= longest) return refused;
  return refusal(422, 'invalid_request', `reference: at most ${longest} characters are allowed.`);
}

function readBody(call: Call, progress: Progress, shelf: Shelf): Answer | null {
  switch (call.operation) {
    case 'gift_card_order':
      return read(call, shelf, giftCardOrderRequest, (order) => {
        progress.purchase = purchaseOf(call, { ...order, item: order.variant });
      });
    case 'esim_order':
      return read(call, shelf, esimOrderRequest, (order) => {
        progress.purchase = purchaseOf(call, { ...order, item: order.plan });
      });
    case 'esim_topup':
      return read(call, shelf, topupRequest, (order) => {
        progress.purchase = purchaseOf(call, { ...order, item: order.plan, quantity: 1 });
      });
    case 'esim_cancel':
      return read(call, shelf, cancelRequest, () => {});
    default:
      return null;
  }
}

function read<Shape extends z.ZodRawShape>(
  call: Call,
  shelf: Shelf,
  schema: z.ZodObject<Shape>,
  keep: (value: z.output<z.ZodObject<Shape>>) => void,
): Answer | null {
  if ('problem' in call.body) return refusal(422, 'invalid_request', call.body.problem);
  const lenient = shelf.settings.requests.unknown_fields === 'ignore';
  const parsed = (lenient ? schema.strip() : schema).safeParse(call.body.json);
  if (!parsed.success) return refusal(422, 'invalid_request', firstProblem(parsed.error));
  keep(parsed.data);
  return null;
}

function firstProblem(error: z.ZodError): string {
  const issue = error.issues[0];
  if (issue === undefined) return 'The body is malformed.';
  const place = issue.path.length === 0 ? 'body' : issue.path.join('.');
  // A caller's own text is repeated only so far that the message stays readable.
  return `${place}: ${issue.message}`.slice(0, 300);
}

function purchaseOf(
  call: Call,
  order: { reference: string; item: string; quantity: number; days?: number | undefined; currency: string },
): Purchase {
  const { reference, item, quantity, days, currency } = order;
  const fingerprint = JSON.stringify([call.operation, call.subject, item, quantity, days ?? null, currency]);
  return { reference, item, quantity, days, currency, fingerprint };
}
