import type { AcceptableLine } from '../../src/core/order/order-request.ts';
import type { ApiCall } from './api-call.ts';
import { plainReadings, type ApiReadings } from './api-readings.ts';
import type { CallFault, FaultProfile } from './call-faults.ts';
import type { AccountPlan, Product, Span } from './sim-account.ts';
import type { OperatorActionPlan } from './sim-operator.ts';
import type { CrashKind } from './sim-disk.ts';
import type { SqliteFault } from './sqlite-tap.ts';
import { usualSettings, type WorkerSettings } from './sim-worker.ts';

/** The death of a worker, counted in calls to its ports since it was started. */
export interface CrashPlan {
  readonly afterPorts: number;
  /** Comes at the first of these calls after that; null: right then. */
  readonly atPlace?: string;
  readonly kind: CrashKind;
  /** How long until it is started again. */
  readonly downMs: number;
}

/** An error of SQLite, counted in calls of the store since the one before it. */
export interface DiskErrorPlan extends SqliteFault {
  readonly afterCalls: number;
  /** How many calls meet it. */
  readonly times: number;
  /** Waits for this call of the store; else it meets whichever comes. */
  readonly atCall?: string;
}

export interface OrderBatch {
  readonly atMs: number;
  readonly lines: readonly AcceptableLine[];
  /** When the shop sends the very same again, although it was acknowledged. */
  readonly againAtMs: readonly number[];
}

/** An order that the shop makes for an eSIM which it got: it cannot know the ICCID before. */
export interface Replacement {
  readonly orderId: string;
  readonly afterMs: number;
  readonly operation: 'esim_cancel' | 'esim_topup';
}

/** Everything that happens to a worker in one run, apart from what it does itself. */
export interface RunPlan {
  readonly name: string;
  readonly seed: number;
  readonly settings: WorkerSettings;
  readonly readings: ApiReadings;
  readonly account: AccountPlan;
  /** eSIMs that the account had before, of unknown origin. */
  readonly oldEsims: readonly string[];
  readonly batches: readonly OrderBatch[];
  readonly replacements: readonly Replacement[];
  readonly crashes: readonly CrashPlan[];
  readonly stops: readonly { readonly atMs: number; readonly downMs: number }[];
  readonly wallJumps: readonly { readonly atMs: number; readonly deltaMs: number }[];
  /** Whether the platform names the machine's runs. */
  readonly namesBoots: boolean;
  readonly faultShare: number;
  /** How often a lookup does not find what is there: twice at the most for one thing, and also after the faults. */
  readonly falseNotFoundShare: number;
  readonly faultProfile: FaultProfile;
  readonly faultsOffMs: number;
  readonly resultsFail: boolean;
  /** Whether a crash leaves copies of the outbox's files to the next worker, rather than the connection to them. */
  readonly ownFiles: boolean;
  /** When the disk of the outbox is lost; an empty one takes its place, with the same secret. */
  readonly lostDiskAtMs: number | null;
  /** Whether the new outbox is told that it follows a lost one, as `init --after-loss` does. */
  readonly looksUpFirst: boolean;
  /** What people do to the worker's orders. */
  readonly operatorActions: readonly OperatorActionPlan[];
  /** Errors of SQLite itself, one after the other. */
  readonly diskErrors: readonly DiskErrorPlan[];
  /** When the disk of the outbox is nearly full. */
  readonly diskFull: Span;
  /** Says what happens to a call, instead of drawing it. */
  readonly script: ((call: ApiCall, number: number) => CallFault) | null;
}

export const forEver = { fromMs: 0, untilMs: Number.POSITIVE_INFINITY } as const;

export const plainProduct: Product = { priceCents: 473, refusals: [], afterSale: null };

export const plainAccount: AccountPlan = {
  products: new Map([
    ['card', plainProduct],
    ['plan', plainProduct],
  ]),
  balances: { USD: 10_000_000, EUR: 10_000_000 },
  depositAtMs: 0,
  denials: [],
  authorizations: [`Bearer ${usualSettings.keys['main'] ?? ''}`],
  unchecked: new Map(),
};

export const plainPlan: RunPlan = {
  name: 'quiet',
  seed: 1,
  settings: usualSettings,
  readings: plainReadings,
  account: plainAccount,
  oldEsims: [],
  batches: [],
  replacements: [],
  crashes: [],
  stops: [],
  wallJumps: [],
  namesBoots: true,
  faultShare: 0,
  falseNotFoundShare: 0,
  faultProfile: 'mixed',
  faultsOffMs: 0,
  resultsFail: false,
  ownFiles: true,
  lostDiskAtMs: null,
  looksUpFirst: false,
  operatorActions: [],
  diskErrors: [],
  diskFull: { fromMs: 0, untilMs: 0 },
  script: null,
};

export const plainLine: AcceptableLine = {
  source: 'shop',
  orderId: 'o1',
  lineId: '1',
  operation: 'gift_card_order',
  variant: 'card',
  plan: null,
  iccid: null,
  quantity: 1,
  days: null,
  currency: 'USD',
  notAfterMs: null,
  metadata: {},
  extra: {},
};

export const esimLine = { operation: 'esim_order', variant: null, plan: 'plan' } as const;
export const topupLine = { operation: 'esim_topup', variant: null, plan: 'plan', quantity: null } as const;
export const cancelLine = { operation: 'esim_cancel', variant: null, quantity: null, currency: null } as const;

/** When a run must have come to rest, in ms of its virtual time. */
export function mustBeDoneByMs(plan: RunPlan): number {
  const lines = plan.batches.reduce((sum, batch) => sum + batch.lines.length, plan.replacements.length);
  const queueMs = lines * 12 * Math.ceil(plan.settings.limits.windowMs / plan.settings.limits.orders);
  const jumpedMs = plan.wallJumps.reduce((sum, jump) => sum + Math.abs(jump.deltaMs), 0);
  // What is for one eSIM waits for each other; a cancel that the API cannot check takes three tries, two minutes apart.
  const ofOneEsim =
    plan.replacements.length +
    plan.batches.flatMap((batch) => batch.lines).filter((line) => line.iccid !== null).length;
  // An order may be accepted at the very end of it, and then wait for units that never come.
  const placedMs = plan.settings.placedDeadlineMs + 600_000;
  // After a loss no more than `maxUnknownOutcomes` entries are looked up at a time, a minute each, and so is each part that may be bought.
  const parts = plan.batches
    .flatMap((batch) => batch.lines)
    .reduce((sum, line) => sum + (line.rules?.partial === true ? 15 : 2), 0);
  const lookedUpMs = plan.looksUpFirst ? (parts * 60_000) / plan.settings.maxUnknownOutcomes : 0;
  return plan.faultsOffMs + 1_800_000 + queueMs + jumpedMs + placedMs + ofOneEsim * 360_000 + lookedUpMs;
}
