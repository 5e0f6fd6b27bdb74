import { productRefusals, type OutcomeRow } from '../../core/answers/outcome.ts';

/** No byte left: also a lookup that ends like this shows that nothing reaches the API. */
export const neverLeftRows: ReadonlySet<OutcomeRow> = new Set<OutcomeRow>([
  'unreachable',
  'proxy_refused',
]);

/**
 * The calls after which the API itself did not speak: nobody answered, or something before it did.
 */
export const unansweredRows: ReadonlySet<OutcomeRow> = new Set<OutcomeRow>([
  ...neverLeftRows,
  'dropped',
  'headers_timeout',
  'deadline',
  'foreign_refusal',
  'foreign_server_error',
  'foreign_unavailable',
]);

/** Which call ends a run of evidence, and a pause because of it. */
export type ClearedBy =
  /** An order of the scope that the API accepted. */
  | 'accepted'
  /** An order of the scope that the API judged in any other way. */
  | 'verdict'
  /** Any call that the API itself answered. */
  | 'answer';

/** When one kind of evidence pauses a scope, and how that pause ends. */
interface EvidenceRule {
  /** The outcomes that are this evidence; none where the outcome alone does not show it. */
  readonly rows: readonly OutcomeRow[];
  readonly scope: 'product' | 'balance' | 'account';
  /** So many different entries in a row, with nothing between that clears them. */
  readonly entries: number;
  /**
   * The family is paused after so many different entries of at least two products. Null: it never
   * is.
   */
  readonly familyEntries: number | null;
  readonly clearedBy: ClearedBy;
  /** `probe`: a question that spends nothing. `trial`: one order of the scope at a time. */
  readonly endsBy: 'probe' | 'trial';
  /** When the scope is tried first, and how long the doubled delays may become, in ms. */
  readonly firstMs: number;
  readonly maxMs: number;
}

const minute = 60_000;

/**
 * Evidence -> scope -> how the pause ends. The scope is the narrowest that explains the evidence.
 * The denials of a key and of the account are in the decision table: each says itself what it
 * denies.
 */
export const evidenceRules = {
  api_unreachable: {
    rows: [...unansweredRows],
    scope: 'account',
    entries: 3,
    familyEntries: null,
    clearedBy: 'answer',
    endsBy: 'probe',
    firstMs: 1000,
    // With its jitter of a tenth it stays below a minute.
    maxMs: 54_000,
  },
  insufficient_balance: {
    rows: ['insufficient_balance'],
    scope: 'balance',
    entries: 3,
    familyEntries: null,
    clearedBy: 'accepted',
    endsBy: 'trial',
    firstMs: minute,
    maxMs: 15 * minute,
  },
  answer_mismatch: {
    rows: ['answer_mismatch'],
    scope: 'product',
    // Each one may be money for the wrong goods.
    entries: 1,
    familyEntries: 2,
    clearedBy: 'accepted',
    endsBy: 'trial',
    firstMs: 5 * minute,
    maxMs: 240 * minute,
  },
  unreadable_success: {
    rows: ['unreadable_success'],
    scope: 'product',
    entries: 2,
    familyEntries: null,
    clearedBy: 'accepted',
    endsBy: 'trial',
    firstMs: minute,
    maxMs: 60 * minute,
  },
  unread_fields: {
    // Accepted orders whose units have fields that the mapping did not read.
    rows: [],
    scope: 'product',
    // Each one is money for units that are not delivered.
    entries: 1,
    familyEntries: 2,
    clearedBy: 'accepted',
    endsBy: 'trial',
    firstMs: 5 * minute,
    maxMs: 240 * minute,
  },
  consecutive_rejections: {
    // Because of how a request is written, not because of what the order asks for.
    rows: ['invalid_request', 'not_found_unexpected', 'unlisted_code', 'code_out_of_place'],
    scope: 'product',
    entries: 3,
    familyEntries: null,
    clearedBy: 'verdict',
    endsBy: 'trial',
    firstMs: 5 * minute,
    maxMs: 60 * minute,
  },
  product_refused: {
    // Each counts once a lookup has confirmed it.
    rows: productRefusals,
    scope: 'product',
    entries: 3,
    familyEntries: null,
    // Another refusal may come before the API looks at the product.
    clearedBy: 'accepted',
    endsBy: 'trial',
    firstMs: 5 * minute,
    maxMs: 60 * minute,
  },
  product_denied: {
    // 401 and 403 deny the key or the account at first: see `Products.isDeniedAlone`.
    rows: [],
    scope: 'product',
    entries: 1,
    familyEntries: null,
    clearedBy: 'accepted',
    endsBy: 'trial',
    firstMs: 5 * minute,
    maxMs: 60 * minute,
  },
  order_absent: {
    rows: [],
    scope: 'product',
    entries: 3,
    familyEntries: null,
    clearedBy: 'verdict',
    endsBy: 'trial',
    firstMs: 5 * minute,
    // A trial that fails costs nothing, and after a long outage every product waits for one.
    maxMs: 10 * minute,
  },
} as const satisfies Record<string, EvidenceRule>;

/** The reason of a pause that evidence opened. */
export type EvidenceReason = keyof typeof evidenceRules;

const isEvidenceReason = (reason: string): reason is EvidenceReason =>
  Object.hasOwn(evidenceRules, reason);
export const evidenceReasons: readonly EvidenceReason[] =
  Object.keys(evidenceRules).filter(isEvidenceReason);

/** The rule of a reason; null for a reason of another kind, such as a denial or an operator's. */
export function evidenceRule(reason: string): EvidenceRule | null {
  return isEvidenceReason(reason) ? evidenceRules[reason] : null;
}
