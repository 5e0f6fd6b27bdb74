import { decisionTable } from '../../buying/decision/decision-table.ts';
import { outcomeRows } from '../../core/answers/outcome.ts';
import { isListedCode } from '../../core/answers/wholesale-errors.ts';
import { evidenceRules } from '../../buying/breakers/evidence.ts';
import { scopeFrom } from '../../core/order/scope.ts';

/**
 * Stands for every value that is not in the closed set of a label: a label never has what somebody
 * outside wrote.
 */
export const other = 'other';

/** The kinds of scopes, as the label `kind`. */
export const scopeKinds = ['account', 'key', 'balance', 'family', 'product'] as const;

/** Why a scope is paused, as the label `reason`. */
export const pauseReasons: readonly string[] = [
  'manual',
  'connector_unproven',
  ...Object.keys(evidenceRules),
  ...outcomeRows.filter(
    (row) => decisionTable[row].clean.pause !== undefined && !(row in evidenceRules),
  ),
  other,
];

/**
 * Why a connection was closed, or a body or a delivery of a shop was refused, before its caller was
 * known.
 */
export const callerRefusals = [
  'connections',
  'connections_per_address',
  'pipelined',
  'answer_not_read',
  'tiny_parts',
  'shut_out',
  'unverified_bytes',
  'verified_bytes',
  'unauthorized',
  'not_found',
  'too_large',
  'incomplete',
] as const;

/** A product is a variant or a plan. */
export function scopeKindOf(scope: string): (typeof scopeKinds)[number] | typeof other {
  const kind = scopeFrom(scope)?.kind;
  if (kind === undefined) return other;
  return kind === 'variant' || kind === 'plan' ? 'product' : kind;
}

/**
 * The code that the API answered with, as a label: a code of the specification, or `other`; `none`
 * without one.
 */
export function codeLabel(code: string | null): string {
  if (code === null) return 'none';
  return isListedCode(code) ? code : other;
}

/** The value, if it is one of these; otherwise `other`. */
export const oneOf = (known: readonly string[], value: string): string =>
  known.includes(value) ? value : other;
