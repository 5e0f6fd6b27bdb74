import { z } from 'zod';
import type { Unit } from '../answers/order-answer.ts';
import { unitFieldNames } from '../answers/unit-fields.ts';
import { OrderSyncError } from '../order-sync-error.ts';
import { deliversUnits } from '../order/purchase.ts';
import { orderLimits } from '../order/order-request.ts';
import { judgeUnits, missingUnits, type OrderOfUnits, withDelivered } from '../answers/units.ts';
import type { EntryState } from '../entry/states.ts';

const field = z
  .string()
  .min(1)
  .max(4096)
  .regex(/^\P{Cc}+$/u, 'must not contain control characters');

/** One unit as an operator enters it: at least one field, under the names of the result. */
const unitSchema = z
  .partialRecord(z.enum(unitFieldNames), field)
  .refine((unit) => Object.keys(unit).length > 0, 'must have at least one field, for example code');

export const enteredUnitsSchema = z.array(unitSchema).max(orderLimits.giftCardQuantity).readonly();

/**
 * Reads the units that an operator entered: a JSON list of units, with the fields that a result has;
 * or one code per line, where a line that begins with `LPA:` is the activation code of an eSIM.
 * @throws OrderSyncError INVALID_INPUT with the place, and never with a value: codes are as good as
 * money
 */
export function readEnteredUnits(text: string): readonly Unit[] {
  const content = text.replace(/^\uFEFF/, '').trim();
  const parsed = enteredUnitsSchema.safeParse(
    content.startsWith('[') ? listFrom(content) : content.split('\n').flatMap(unitOfLine),
  );
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const [index, name] = issue?.path ?? [];
    const place =
      typeof index === 'number'
        ? `unit ${index + 1}${name === undefined ? '' : `, ${String(name)},`}`
        : 'the list';
    throw invalid(`${place} ${ruleOf(issue)}`);
  }
  if (parsed.data.length === 0) throw invalid('no units were entered');
  return parsed.data;
}

function unitOfLine(line: string): object[] {
  const value = line.trim();
  if (value === '') return [];
  return [/^LPA:/i.test(value) ? { lpa: value } : { code: value }];
}

function listFrom(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    throw invalid('text that begins with [ must be a JSON list of units');
  }
}

function ruleOf(issue: z.core.$ZodIssue | undefined): string {
  if (issue?.code === 'unrecognized_keys')
    return `has an unknown field: ${issue.keys[0]?.slice(0, 40)}`;
  if (issue?.code === 'too_big')
    return `must have at most ${issue.maximum} ${issue.origin === 'array' ? 'units' : 'characters'}`;
  if (issue?.code === 'invalid_type')
    return `must be ${issue.expected === 'string' ? 'text' : 'an object'}`;
  return issue?.message ?? 'is no unit';
}

function invalid(message: string): OrderSyncError {
  return new OrderSyncError('INVALID_INPUT', message, {
    hint: 'enter one code per line, or a JSON list such as [{"code": "…", "pin": "…"}]; nothing was changed',
  });
}

interface Resolved extends OrderOfUnits {
  readonly units: readonly Unit[];
}

type Entered = { readonly ok: true; readonly units: readonly Unit[] } | ReturnType<typeof refuse>;

/** Why an operator may not do something, and what can be done. */
export const refuse = (why: string, hint: string) => ({ ok: false, why, hint }) as const;

/**
 * The units of an entry that an operator resolves: those that they entered, and those that the API
 * delivered. `entered` is undefined where the operator said nothing, and empty where they know of
 * none. No sentence has a code in it.
 */
export function unitsByOperator(
  order: Resolved,
  resolvedTo: EntryState,
  entered: readonly Unit[] | undefined,
): Entered {
  const { reference, units: before } = order;
  if (resolvedTo !== 'fulfilled') {
    if (entered === undefined || entered.length === 0) return { ok: true, units: before };
    return refuse(
      `${reference} brought no units as ${resolvedTo}`,
      'only an order that was bought has units',
    );
  }
  const ordered = order.quantity ?? 1;
  if (entered === undefined) {
    const missing = missingUnits(order, before);
    if (missing === 0) return { ok: true, units: before };
    return refuse(
      `${missing} of the ${ordered} units of ${reference} are not in the outbox`,
      'enter the units with --units FILE, where - is standard input, or add --no-units: the result then asks for delivery by hand',
    );
  }
  if (entered.length === 0) return { ok: true, units: before };
  if (!deliversUnits(order.operation)) {
    return refuse(
      `${reference} delivers no units`,
      'a top-up or a cancel changes an eSIM that the customer has',
    );
  }
  const judged = judgeUnits(entered, order);
  if (judged.shown < entered.length) {
    const what =
      order.operation === 'esim_order'
        ? 'an ICCID or an activation code'
        : 'a code, a pin or a link';
    const unlike = `${entered.length - judged.shown} of the ${entered.length} units do not look like units of this order`;
    return refuse(
      unlike,
      `each unit needs ${what} that is neither a placeholder nor a value of the order itself`,
    );
  }
  if (judged.kind === 'repeated')
    return refuse('one of the units is entered twice', 'enter each unit once');
  const units = withDelivered(entered, before);
  if (units.length > ordered) {
    const delivered = units.length - entered.length;
    const besidesEntered = delivered === 0 ? '' : ` and ${delivered} that the API delivered`;
    return refuse(
      `${entered.length} units${besidesEntered} are more than the ${ordered} that were ordered`,
      'enter the units of this order only',
    );
  }
  return { ok: true, units };
}
