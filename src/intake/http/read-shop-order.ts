import type { Buffer } from 'node:buffer';
import type { WholeRequest } from '../../store/intake/intake.ts';
import { isObject } from '../orders/check-line.ts';
import { checkOrder } from '../orders/check-order.ts';
import { shownValue } from '../orders/checked-line.ts';
import { concerns, type MappingRules, mapOrder } from './field-mapping.ts';
import type { DocumentMistake } from './problem.ts';
import {
  documentOf,
  fragment,
  invalid,
  mistakeOf,
  mistakeOfFinding,
  type ReadOrders,
  repeatedLines,
  tooManyLines,
} from './read-orders.ts';
import type { WebhookLimits } from './settings.ts';

/**
 * Reads one order in the form of a home-made shop, by the same rules as our own form, and names mistakes by their place
 * in what the shop sent. Without lines: all of them are not ours. Throws the refusal, with every mistake found.
 */
export function readShopOrder(
  body: Buffer,
  limits: Pick<WebhookLimits, 'depth' | 'batchLines'>,
  defaultSource: string,
  rules: MappingRules,
): ReadOrders {
  const { value, findings } = documentOf(body, limits.depth);
  if (!isObject(value)) throw invalid([{ pointer: '#', code: 'not_an_order', detail: 'must be an order: an object' }]);
  const mapped = mapOrder(value, rules);
  const mistakes: DocumentMistake[] = [
    ...findings.filter((finding) => concerns(finding, rules.fields)).map(mistakeOfFinding),
    ...mapped.mistakes.map(({ pointer, code, rule, value: met }) => ({
      pointer: fragment(pointer),
      code,
      detail: rule,
      ...shown(met),
    })),
  ];
  const order = { value: mapped.value, findings: [], path: [], lineNumberOf: () => 1 };
  const ours = mapped.value['lines'];
  const count = Array.isArray(ours) ? ours.length : 1;
  if (count > limits.batchLines) throw invalid([tooManyLines(count, limits.batchLines)]);
  const lines: WholeRequest['lines'][number][] = [];
  // No line of ours is left: either each has its mistake already, or none is for us.
  if (count === 0 && mapped.ignored + mapped.mistakes.length > 0) {
    if (mistakes.length > 0) throw invalid(mistakes);
    return { lines, single: true };
  }
  for (const item of checkOrder(order, defaultSource)) {
    if (item.kind === 'line') lines.push({ ...item.line, lineNumber: null });
    else mistakes.push(mistakeOf({ ...item.rejection, field: mapped.placeOf(item.rejection.field ?? '') }));
  }
  for (const mistake of repeatedLines(order)) {
    mistakes.push({ ...mistake, pointer: fragment(mapped.placeOf(mistake.pointer.slice(1))) });
  }
  if (mistakes.length > 0) throw invalid(mistakes);
  return { lines, single: true };
}

function shown(value: unknown): { value?: string } {
  const text = shownValue(value);
  return text === null ? {} : { value: text };
}
