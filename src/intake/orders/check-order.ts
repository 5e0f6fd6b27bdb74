import { type OrderDefaults, orderLimits } from '../../core/order/order-request.ts';
import { addSku } from './add-sku.ts';
import {
  addProblems,
  addProblemsOfLine,
  type CheckedLine,
  checkHead,
  checkLine,
  identityOf,
  isObject,
  type LineIdentity,
  placeholderHead,
  type Problem,
  rejectionOf,
  shownValue,
  unidentified,
} from './check-line.ts';
import { mayMean } from './column-words.ts';
import { type Completion, completeLine } from './complete-line.ts';
import type { ParseOptions } from './settings.ts';
import { type JsonFinding, jsonPointer } from './strict-json.ts';

export interface FoundOrder {
  readonly value: unknown;
  /** Its place in the document; empty when it is the document. */
  readonly path: readonly (string | number)[];
  /** The findings of the whole document; those in other orders are ignored. */
  readonly findings: readonly JsonFinding[];
  /** The line of text on which an object begins; for any other value, a line nearby. */
  lineNumberOf(value: unknown): number;
}

type JsonDefaults = OrderDefaults & Pick<ParseOptions, 'skus'>;

/**
 * Checks the lines of one order, each for itself. A problem of the order itself rejects each of its
 * lines, and is the first of their problems. A line whose id another line has is rejected: the
 * outbox would take it for a repetition of the other.
 */
export function* checkOrder(order: FoundOrder, defaults: JsonDefaults): Generator<CheckedLine> {
  const { value, path } = order;
  if (!isObject(value)) {
    yield notAnOrder(order);
    return;
  }
  const { lines, ...head } = value;
  const identify = (line: unknown, given = line): LineIdentity => {
    const { line_id: lineId, variant, plan, iccid } = isObject(line) ? line : {};
    const read = {
      source: head['source'],
      orderId: head['order_id'],
      lineId,
      product: variant ?? plan ?? iccid,
    };
    return identityOf(read, order.lineNumberOf(isObject(given) ? given : value), defaults.source);
  };
  const findings = order.findings.filter((finding) =>
    path.every((part, index) => finding.path[index] === part),
  );
  const problems = findings
    .filter((finding) => lineIndexOf(finding, path.length) === null)
    .map(problemOf);
  const checkedHead = checkHead(head, (at) => jsonPointer([...path, ...at]));
  if (!checkedHead.ok) addProblems(problems, checkedHead.problems);
  if (!Array.isArray(lines) || lines.length === 0 || lines.length > orderLimits.linesPerRequest) {
    problems.push(problemOfLines(lines, jsonPointer([...path, 'lines'])));
    yield rejectionOf(identify(null), problems);
    return;
  }
  const joinedHead = checkedHead.ok ? checkedHead.value : placeholderHead(head);
  const ids = new Map<string, number>();
  for (const [index, given] of (lines as unknown[]).entries()) {
    const nameOf = (at: readonly PropertyKey[]): string =>
      jsonPointer([...path, 'lines', index, ...at]);
    const inLine = findings.filter((finding) => lineIndexOf(finding, path.length) === index);
    const found = [...problems, ...inLine.map(problemOf)];
    const { skus } = defaults;
    const line = completed(given, { nameOf, isOneOfSeveral: lines.length > 1, skus }, found);
    const checked = checkLine(joinedHead, line, nameOf, defaults);
    if (!checked.ok) addProblemsOfLine(found, checked, nameOf);
    else if (found.length === 0) {
      const { lineId } = checked.value;
      const first = ids.get(lineId);
      if (first === undefined) {
        ids.set(lineId, index);
        yield { kind: 'line', line: { ...checked.value, lineNumber: order.lineNumberOf(given) } };
        continue;
      }
      const rule = `is also the line_id of line ${first + 1} of this order: give each purchase its own line_id`;
      found.push({
        code: 'duplicate_line',
        field: nameOf(['line_id']),
        rule,
        value: shownValue(lineId),
      });
    }
    yield rejectionOf(identify(line, given), found);
  }
}

/** A copy with what the line need not say; a value that is no line stays as it is. */
function completed(
  given: unknown,
  { skus, ...about }: Pick<Completion, 'nameOf' | 'isOneOfSeveral'> & Pick<ParseOptions, 'skus'>,
  problems: Problem[],
): unknown {
  if (!isObject(given)) return given;
  const { sku, ...line } = given;
  const carried = Object.keys(line['extra'] ?? {});
  const hasQuantities =
    line['quantity'] === undefined && carried.some((name) => mayMean('quantity', name));
  if (sku !== undefined)
    addSku(line, sku, { ...about, skus, otherwise: hasQuantities ? undefined : 1 }, problems);
  const products = sku === undefined ? ['variant', 'plan'] : [];
  completeLine(line, { ...about, hasQuantities, products }, problems);
  return line;
}

function notAnOrder(order: FoundOrder): CheckedLine {
  const { value, path } = order;
  const rule = 'must be an order: an object with order_id and lines';
  const problem = {
    code: 'not_an_order',
    field: jsonPointer(path),
    rule,
    value: shownValue(value),
  };
  return rejectionOf(unidentified(order.lineNumberOf(value)), [problem]);
}

/**
 * The index of the line that contains a finding, in an order whose own place has `depth` parts;
 * null: no line.
 */
function lineIndexOf({ path }: JsonFinding, depth: number): number | null {
  const index = path[depth + 1];
  return path[depth] === 'lines' && typeof index === 'number' ? index : null;
}

export function problemOf({ code, path, rule, value }: JsonFinding): Problem {
  return { code, field: jsonPointer(path), rule, value: shownValue(value) };
}

function problemOfLines(lines: unknown, field: string): Problem {
  if (lines === undefined)
    return { code: 'missing_field', field, rule: 'is required', value: null };
  if (!Array.isArray(lines)) {
    return {
      code: 'invalid_field',
      field,
      rule: 'must be an array of lines',
      value: shownValue(lines),
    };
  }
  if (lines.length === 0)
    return { code: 'invalid_field', field, rule: 'must have at least one line', value: '[]' };
  const rule = `must have at most ${orderLimits.linesPerRequest} lines: split the order`;
  return { code: 'too_many_lines', field, rule, value: String(lines.length) };
}
