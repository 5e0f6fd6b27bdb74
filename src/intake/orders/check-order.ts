import { orderLimits } from '../../core/order/order-request.ts';
import { isObject, judgeHead, judgeLine } from './check-line.ts';
import { jsonPointer } from './json-pointer.ts';
import {
  type LineIdentity,
  type ParsedItem,
  type Problem,
  rejectionOf,
  identityOf,
  shownValue,
} from './checked-line.ts';
import type { JsonFinding } from './strict-json.ts';

/** An order object as it was read from JSON, with the place it was read from. */
export interface FoundOrder {
  readonly value: unknown;
  /** Its place in the document; empty when it is the document. */
  readonly path: readonly (string | number)[];
  /** What the reader found in the document; those of other orders are ignored. */
  readonly findings: readonly JsonFinding[];
  /** The line of text on which an object begins; of anything else, about where it is. */
  lineNumberOf(value: unknown): number;
}

/**
 * Judges one order: its lines one by one, so that a bad line is refused alone. What is wrong with the order itself is
 * wrong with each of its lines.
 */
export function* judgeOrder(order: FoundOrder, defaultSource: string): Generator<ParsedItem> {
  const { value, path } = order;
  if (!isObject(value)) {
    const lineNumber = order.lineNumberOf(value);
    const identity = { lineNumber, source: null, orderId: null, lineId: null };
    const rule = 'must be an order: an object with order_id and lines';
    yield rejectionOf(identity, [{ code: 'not_an_order', field: jsonPointer(path), rule, value: shownValue(value) }]);
    return;
  }
  const { lines, ...rest } = value;
  // Whose line it was is only asked of a line that is refused.
  let identity: LineIdentity | null = null;
  const identify = (): LineIdentity => {
    const whose = { source: rest['source'], orderId: rest['order_id'], lineId: undefined };
    identity ??= identityOf(whose, order.lineNumberOf(value), defaultSource);
    return identity;
  };
  const found = findingsBelow(order);
  const problems = found.filter((finding) => !isInLine(finding.path, path.length)).map(problemOf);
  const head = judgeHead(rest, (at) => jsonPointer([...path, ...at]));
  if (!head.ok)
    problems.push(...head.problems.filter((problem) => !problems.some((known) => known.field === problem.field)));
  const badLines = problemOfLines(lines, () => jsonPointer([...path, 'lines']));
  if (badLines !== null) problems.push(badLines);

  if (!Array.isArray(lines) || lines.length === 0 || lines.length > orderLimits.linesPerRequest) {
    yield rejectionOf(identify(), problems);
    return;
  }
  for (const [index, line] of (lines as unknown[]).entries()) {
    const linePath = [...path, 'lines', index];
    const lineNumber = order.lineNumberOf(isObject(line) ? line : value);
    const ofLine = (): LineIdentity => ({
      ...identify(),
      lineNumber,
      lineId: isObject(line) && typeof line['line_id'] === 'string' ? shownValue(line['line_id']) : null,
    });
    if (problems.length > 0 || !head.ok) {
      yield rejectionOf(ofLine(), problems);
      continue;
    }
    const strict = found.filter((finding) => isInLine(finding.path, path.length, index)).map(problemOf);
    const judged = judgeLine(head.value, line, (at) => jsonPointer([...linePath, ...at]), defaultSource);
    if (judged.ok && strict.length === 0) {
      yield { kind: 'line', line: { ...judged.value, lineNumber } };
    } else {
      const others = judged.ok ? [] : judged.problems;
      yield rejectionOf(ofLine(), [
        ...strict,
        ...others.filter((problem) => !strict.some((known) => known.field === problem.field)),
      ]);
    }
  }
}

function findingsBelow(order: FoundOrder): readonly JsonFinding[] {
  if (order.path.length === 0) return order.findings;
  return order.findings.filter((finding) => order.path.every((part, index) => finding.path[index] === part));
}

/** Whether a finding lies within a line (that line) of the order whose own place has `depth` parts. */
function isInLine(path: readonly (string | number)[], depth: number, index?: number): boolean {
  const part = path[depth + 1];
  if (path[depth] !== 'lines' || typeof part !== 'number') return false;
  return index === undefined || part === index;
}

function problemOf(finding: JsonFinding): Problem {
  return {
    code: finding.code,
    field: jsonPointer(finding.path),
    rule: finding.rule,
    value: shownValue(finding.value),
  };
}

function problemOfLines(lines: unknown, fieldOf: () => string): Problem | null {
  if (Array.isArray(lines) && lines.length > 0 && lines.length <= orderLimits.linesPerRequest) return null;
  const field = fieldOf();
  if (lines === undefined) return { code: 'missing_field', field, rule: 'is required', value: null };
  if (!Array.isArray(lines)) {
    return { code: 'invalid_field', field, rule: 'must be an array of lines', value: shownValue(lines) };
  }
  if (lines.length === 0) return { code: 'invalid_field', field, rule: 'must hold at least one line', value: '[]' };
  const rule = `must hold at most ${orderLimits.linesPerRequest} lines: divide the order`;
  return { code: 'too_many_lines', field, rule, value: String(lines.length) };
}
