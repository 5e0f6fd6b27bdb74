import { z } from 'zod';
import {
  iccidSchema,
  lineIdSchema,
  orderIdSchema,
  orderLimits,
  orderRulesSchema,
  sourceSchema,
} from '../order/order-request.ts';
import { allowedActions, type EntryState, entryStates } from '../entry/states.ts';
import { operations } from '../order/purchase.ts';
import { OrderSyncError } from '../order-sync-error.ts';
import type { EntryExplanation, QueueExplanation } from './queue-explanation.ts';
import { enteredUnitsSchema } from './units-by-operator.ts';

export const resolutions = ['fulfilled', 'rejected', 'refunded'] as const;
export type Resolution = (typeof resolutions)[number];

/**
 * The actions that are allowed for many entries at once. All but `reorder`, for which an operator
 * types the count, keep the reference and cannot buy twice. `resolve` needs what an operator found
 * about that one entry.
 */
export const bulkActions = ['retry', 'hold', 'release', 'cancel', 'reorder'] as const;
export type BulkAction = (typeof bulkActions)[number];

/**
 * So many entries are changed by one run, and by one step of it: the worker does nothing else
 * during a step.
 */
export const mostInRun = 1000;
export const mostInStep = 100;

/** At most this many rows of the attention list are acknowledged in one step. */
export const acknowledgedAtOnce = 1000;

/** Which entries: those that fit everything that is given. */
const bulkFilterSchema = z.strictObject({
  state: z.enum(entryStates).optional(),
  source: sourceSchema.optional(),
  /** The code that the attention list shows: that of the last error, else the state. */
  code: z.string().min(1).max(128).optional(),
  /** A gift card variant or an eSIM plan. */
  product: z.string().min(1).max(128).optional(),
  /** The entries of these orders, by the numbers that a list of orders has. */
  orders: z.array(z.int()).max(mostInStep).readonly().optional(),
  /**
   * Only entries that have not changed since this time, in ms: the operator who chose the filter has
   * not seen later changes.
   */
  untilMs: z.number(),
});
export type BulkFilter = z.infer<typeof bulkFilterSchema>;

/**
 * The states in which this action is allowed for some entries. Which of them, each entry decides by
 * itself.
 */
export function statesFor(action: BulkAction): readonly EntryState[] {
  const clean = { mayBeBought: false, replaced: false, hasOtherId: false, unitsMissing: 0 };
  return entryStates.filter(
    (state) =>
      // A cancelled entry was ended on purpose: it is ordered again one by one.
      (action !== 'reorder' || state !== 'cancelled') &&
      allowedActions({ ...clean, state, heldFrom: state === 'held' ? 'pending' : null }).includes(
        action,
      ),
  );
}

// The commands that the command line sends to a running worker. Both must have the same version, so
// the shape is no contract.

const reference = z.string().min(1).max(36);
const who = { actor: z.string().min(1).max(100), reason: z.string().max(500) };
// A product scope has the product in it, which may have 128 characters.
const scope = z.string().min(1).max(200);
const text = (max: number) => z.string().min(1).max(max);

const purchase = {
  operation: z.enum(operations),
  variant: text(128).nullable(),
  plan: text(128).nullable(),
  iccid: text(22).nullable(),
  quantity: z.int().min(1).nullable(),
  days: z.int().min(1).nullable(),
  currency: text(3).nullable(),
  notAfterMs: z.number().nullable(),
};

const lineSchema = z.strictObject({
  source: sourceSchema,
  orderId: orderIdSchema,
  lineId: lineIdSchema,
  ...purchase,
  metadata: z.record(z.string(), z.json()),
  extra: z.record(z.string(), z.string()),
  // The type of a line tells absent from undefined.
  rules: orderRulesSchema.default({}),
  lineNumber: z.int().nullable(),
});

export const submitCommandSchema = z.strictObject({
  action: z.literal('submit'),
  lines: z.array(lineSchema).max(1000),
});

export const operatorCommandSchema = z.discriminatedUnion('action', [
  z.strictObject({ action: z.enum(['hold', 'release', 'cancel', 'retry']), reference, ...who }),
  z.strictObject({
    action: z.literal('resolve'),
    reference,
    as: z.enum(resolutions),
    orderNumber: text(128).nullable(),
    /**
     * The eSIMs of the order: a later cancel is looked up by it. Absent: the operator did not name
     * them.
     */
    iccids: z.array(iccidSchema).max(orderLimits.esimQuantity).readonly().optional(),
    /**
     * The units that the operator has from the supplier; empty: they know of none. Absent: they did
     * not say.
     */
    units: enteredUnitsSchema.optional(),
    /** A sentence for the result. */
    note: text(400).nullable(),
    ...who,
  }),
  z.strictObject({
    action: z.literal('bulk'),
    order: z.enum(bulkActions),
    /** Entries that the filter found; each is judged again. */
    references: z.array(reference).min(1).max(mostInStep).readonly(),
    which: bulkFilterSchema,
    ...who,
  }),
  /** How many of the bought pieces of a line the customer gets. */
  z.strictObject({ action: z.literal('give'), reference, pieces: z.int().min(1), ...who }),
  z.strictObject({
    action: z.literal('reorder'),
    reference,
    /** Repeats the old reference, so that nobody re-orders by mistake. */
    confirm: z.string().max(100),
    /** The replacing order; absent: the same again. */
    as: z.strictObject({ ...purchase, rules: orderRulesSchema }).optional(),
    ...who,
  }),
  z.strictObject({
    action: z.literal('acknowledge'),
    /** Rows of the attention list: these, or those that fit all of the rest. */
    which: z.strictObject({
      ids: z.array(text(200)).min(1).max(1000).readonly().optional(),
      kind: text(64).optional(),
      code: text(128).optional(),
      subject: text(200).optional(),
      source: text(64).optional(),
      beforeMs: z.number().optional(),
    }),
    ...who,
  }),
  z.strictObject({ action: z.enum(['pause', 'resume']), scope, ...who }),
  z.strictObject({
    action: z.literal('set_balance'),
    currency: text(3),
    millionths: z.int(),
    ...who,
  }),
  z.strictObject({
    action: z.literal('rewrite_results'),
    /** Results that fit everything that is given. */
    which: z.strictObject({
      sink: text(200).optional(),
      source: text(64).optional(),
      orderId: text(128).optional(),
      /** Results that changed last in this time, in ms; the end is not included. */
      sinceMs: z.number().optional(),
      untilMs: z.number().optional(),
      givenUp: z.boolean().optional(),
    }),
    /** Continues after this number of an earlier step; 0: begins. */
    afterId: z.int().min(0),
    ...who,
  }),
  z.strictObject({ action: z.literal('reveal'), reference, ...who }),
  z.strictObject({ action: z.literal('seal_again') }),
  z.strictObject({
    action: z.literal('reconcile'),
    /** The name of a shop; null: every shop that is read back. */
    shop: text(64).nullable(),
    /** Start at this time of the shop; null: where the last run ended. */
    sinceMs: z.number().nullable(),
  }),
  z.strictObject({
    action: z.literal('read_catalogue'),
    variants: z.array(text(128)).max(10_000),
    plans: z.array(text(128)).max(10_000),
    /** The eSIM whose top-up plans are wanted, instead of `plans`. */
    iccid: text(128).optional(),
    withinMs: z.int().min(1).max(600_000),
  }),
  z.strictObject({
    action: z.literal('check_api'),
    keys: z.array(text(100)).min(1).max(5),
    withinMs: z.int().min(1).max(600_000),
  }),
  z.strictObject({
    action: z.literal('explain'),
    /** An entry; null: the queue as a whole. */
    reference: reference.nullable(),
  }),
  submitCommandSchema,
]);
export type OperatorCommand = z.infer<typeof operatorCommandSchema>;
/** Which results are delivered again. */
export type Redelivery = Extract<OperatorCommand, { action: 'rewrite_results' }>['which'];
/** Commands that make calls over the network; the others are single steps of the store. */
export type CallingCommand = Extract<
  OperatorCommand,
  { action: 'reconcile' | 'read_catalogue' | 'check_api' }
>;
/** Read-only: the running worker answers it from its own budget gate. */
export type ExplainCommand = Extract<OperatorCommand, { action: 'explain' }>;
export type StoreCommand = Exclude<OperatorCommand, CallingCommand | ExplainCommand>;

/** Asks for the plans with which an eSIM can be topped up. */
export const topupsOf = (iccid: string): CallingCommand => {
  return { action: 'read_catalogue', variants: [], plans: [], iccid, withinMs: 60_000 };
};

/**
 * The answer to `topupsOf`.
 * @throws OrderSyncError UNREACHABLE where the API did not show them
 */
export function readTopups(
  iccid: string | undefined,
  { plans, plansProblem }: ResultOf<'catalogue'>,
): CatalogueResult['plans'] {
  if (plansProblem === null) return plans;
  throw new OrderSyncError('UNREACHABLE', `The top-ups of ${iccid}: ${plansProblem}`);
}

/** Whether the command makes calls over the network, which take longer than a commit. */
export function isCalling(command: OperatorCommand): command is CallingCommand {
  return ['reconcile', 'read_catalogue', 'check_api'].includes(command.action);
}

// The answers of the worker. The request names the version of the protocol, so the command line
// need not check them.

interface EntryResult {
  kind: 'entry';
  reference: string;
  before: EntryState;
  after: EntryState;
  newReference: string | null;
}

interface AcknowledgedResult {
  kind: 'acknowledged';
  /** The ids of the rows that left the list. */
  acknowledged: readonly string[];
  /** The named ids that cannot be acknowledged; `hint`: the next step of the operator. */
  refused: readonly {
    id: string;
    code: 'NOT_ALLOWED' | 'NOT_FOUND';
    message: string;
    hint: string;
  }[];
}

interface BulkResult {
  kind: 'bulk';
  changed: readonly string[];
  refused: readonly { reference: string; message: string; hint: string }[];
}

interface ReconciledResult {
  kind: 'reconciled';
  shops: readonly {
    platform: string;
    shop: string;
    /** The run read all changes. If not, the next run continues, or `error` says why it cannot. */
    complete: boolean;
    pages: number;
    orders: number;
    accepted: number;
    takenBack: number;
    flagged: number;
    unreadable: number;
    /** The newest change that was read, by the shop's clock; null when nothing was read. */
    readToMs: number | null;
    error: { kind: string; message: string } | null;
  }[];
}

/**
 * The wanted items that the catalogue has. A missing item is not for sale if the catalogue was read
 * completely.
 */
interface CatalogueResult {
  kind: 'catalogue';
  products: readonly {
    variant: string;
    /** False for a website-only product (Spec 1). */
    sellable: boolean;
    maxQuantity: number | null;
    /** The currencies that it has a price in; empty when the catalogue shows no prices. */
    currencies: readonly string[];
    /** What a unit costs there, by currency; of a daily plan perhaps a day. */
    prices: Readonly<Record<string, number>>;
  }[];
  plans: readonly {
    plan: string;
    sellable: boolean;
    /** Whether `days` must be given (Spec 2). */
    daily: boolean;
    minDays: number | null;
    maxDays: number | null;
    currencies: readonly string[];
    prices: Readonly<Record<string, number>>;
  }[];
  /**
   * Why the catalogue of products was not read to its end; null when it was, or when every item was
   * found.
   */
  productsProblem: string | null;
  plansProblem: string | null;
}

interface ApiResult {
  kind: 'api';
  keys: readonly {
    key: string;
    /** `no_slot`: the budget had none in time, or the worker does not know the key. */
    verdict: 'open' | 'closed' | 'cannot_tell' | 'no_slot';
    /** The row of the decision table that the answer is; null when there was no call. */
    outcome: string | null;
    message: string;
    /** Those of the first products; null: no product was read. Absent: the catalogue was not asked. */
    currencies?: readonly string[] | null | undefined;
  }[];
  /** By how much this machine's clock is ahead of the API's; null: its answers do not tell. */
  aheadMs: number | null;
}

interface SubmittedResult {
  kind: 'submitted';
  lines: readonly {
    status: 'accepted' | 'known' | 'conflict' | 'refused';
    source: string;
    orderId: string;
    lineId: string;
    reference: string | null;
    differences: readonly { field: string; was: unknown; is: unknown }[];
  }[];
}

export type CommandResult =
  | EntryResult
  | AcknowledgedResult
  | BulkResult
  | { kind: 'scope'; scope: string; paused: boolean }
  /** `nextId`: where the next step continues; null: there is none. */
  | { kind: 'results'; due: number; nextId: number | null }
  | { kind: 'revealed'; units: readonly Readonly<Record<string, string>>[] }
  | {
      kind: 'sealed';
      sealsWith: string | null;
      unreadable: readonly string[];
      more: boolean;
    }
  | ReconciledResult
  | CatalogueResult
  | ApiResult
  | { kind: 'queue'; explanation: QueueExplanation }
  | { kind: 'queued_entry'; explanation: EntryExplanation }
  | SubmittedResult;
/** What a command brings, without its kind. */
export type ResultOf<Kind extends CommandResult['kind']> = Omit<
  Extract<CommandResult, { kind: Kind }>,
  'kind'
>;
