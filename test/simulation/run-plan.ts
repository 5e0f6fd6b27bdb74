import type { AcceptableLine } from '../../src/core/order/order-request.ts';
import type { ApiCall } from './api-call.ts';
import { plainReadings, type ApiReadings } from './api-readings.ts';
import type { CallFault, FaultProfile } from './call-faults.ts';
import type { IntakePlan } from './intake-plan.ts';
import type { AccountPlan, Product, Span } from './sim-account.ts';
import type { OperatorActionPlan } from './sim-operator.ts';
import { heldByLimitsMs } from './held-by-limits.ts';
import type { CrashKind } from './sim-disk.ts';
import type { SqliteFault } from './sqlite-tap.ts';
import { usualSettings, type WorkerSettings } from './sim-worker.ts';
import { longestRetryMs, noSinks, type SinksPlan, troublesEndMs } from './sinks-plan.ts';
import { noTroubles, type Troubles } from './troubles.ts';

/** A crash of the worker, after so many port calls since its start. */
export interface CrashPlan {
  readonly afterPorts: number;
  /** The crash waits for this port call; absent: it comes at once. */
  readonly atPlace?: string;
  readonly kind: CrashKind;
  /** How long until the worker is started again. */
  readonly downMs: number;
}

/** An error of SQLite, after so many calls of the store since the previous one. */
export interface DiskErrorPlan extends SqliteFault {
  readonly afterCalls: number;
  /** How many calls get the error. */
  readonly times: number;
  /** The error waits for this call of the store; absent: any call gets it. */
  readonly atCall?: string;
}

export interface OrderBatch {
  readonly atMs: number;
  readonly lines: readonly AcceptableLine[];
  /** When the shop sends the same batch again, although it was acknowledged. */
  readonly againAtMs: readonly number[];
  /**
   * It comes in through the intake, as `RunPlan.intake` says; absent: the worker gets checked
   * lines.
   */
  readonly byIntake?: boolean;
}

/** An order of the shop for an eSIM that an earlier order delivered. */
export interface Replacement {
  readonly orderId: string;
  readonly afterMs: number;
  readonly operation: 'esim_cancel' | 'esim_topup';
  /** It comes from a source that did not buy the eSIM. */
  readonly isForeign?: boolean;
}

export interface WallJump {
  readonly atMs: number;
  readonly deltaMs: number;
}

/** The supplier changes its limits, and the worker reads its configuration again. */
export interface Reload {
  readonly atMs: number;
  readonly limits: { readonly requests: number; readonly orders: number };
  readonly concurrency: number;
  readonly maxUnknownOutcomes: number;
}

/** Everything that happens to the worker in one run. */
export interface RunPlan {
  readonly name: string;
  readonly seed: number;
  readonly settings: WorkerSettings;
  readonly readings: ApiReadings;
  readonly account: AccountPlan;
  /** eSIMs that the account has already, from unknown orders. */
  readonly oldEsims: readonly string[];
  readonly batches: readonly OrderBatch[];
  readonly replacements: readonly Replacement[];
  /** Null: no intake is played. */
  readonly intake: IntakePlan | null;
  readonly crashes: readonly CrashPlan[];
  readonly stops: readonly { readonly atMs: number; readonly downMs: number }[];
  readonly wallJumps: readonly WallJump[];
  /** Whether the platform has boot ids. */
  readonly namesBoots: boolean;
  readonly faultShare: number;
  /**
   * How often a lookup does not find an order that exists: at most twice for one order, and also
   * after the faults.
   */
  readonly falseNotFoundShare: number;
  readonly faultProfile: FaultProfile;
  /** While somebody else uses the keys, too, most calls get a 429. */
  readonly keysOfOthers: Span;
  readonly faultsOffMs: number;
  readonly resultsFail: boolean;
  /**
   * Whether the next worker after a crash gets copies of the files of the outbox, or the open
   * connection to them.
   */
  readonly ownFiles: boolean;
  /** When the disk of the outbox is lost and replaced by an empty one, with the same secret. */
  readonly lostDiskAtMs: number | null;
  /**
   * When the copy of the outbox was made that takes the place of the lost one; null: an empty
   * outbox does.
   */
  readonly copyAtMs: number | null;
  /**
   * Whether the new outbox is made with `init --after-loss`, or notices itself that it is an older
   * copy.
   */
  readonly looksUpFirst: boolean;
  /** What the operator does. */
  readonly operatorActions: readonly OperatorActionPlan[];
  /** Errors of SQLite, one after the other. */
  readonly diskErrors: readonly DiskErrorPlan[];
  /** When the disk of the outbox is almost full. */
  readonly diskFull: Span;
  /** Products, lookups or the whole API in trouble, and nothing else. */
  readonly troubles: Troubles;
  readonly reloads: readonly Reload[];
  /** Who receives results besides the results folder. */
  readonly sinks: SinksPlan;
  /** Chooses the fault of each call; null: it is drawn. */
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
  name: 'plain',
  seed: 1,
  settings: usualSettings,
  readings: plainReadings,
  account: plainAccount,
  oldEsims: [],
  batches: [],
  replacements: [],
  intake: null,
  crashes: [],
  stops: [],
  wallJumps: [],
  namesBoots: true,
  faultShare: 0,
  falseNotFoundShare: 0,
  faultProfile: 'mixed',
  keysOfOthers: { fromMs: 0, untilMs: 0 },
  faultsOffMs: 0,
  resultsFail: false,
  ownFiles: true,
  lostDiskAtMs: null,
  copyAtMs: null,
  looksUpFirst: false,
  operatorActions: [],
  diskErrors: [],
  diskFull: { fromMs: 0, untilMs: 0 },
  troubles: noTroubles,
  reloads: [],
  sinks: noSinks,
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
export const topupLine = {
  operation: 'esim_topup',
  variant: null,
  plan: 'plan',
  quantity: null,
} as const;
export const cancelLine = {
  operation: 'esim_cancel',
  variant: null,
  quantity: null,
  currency: null,
} as const;

/** When everything in a run must be settled, in ms of its virtual time. */
export function mustBeDoneByMs(plan: RunPlan): number {
  const lines = plan.batches.reduce(
    (sum, batch) => sum + batch.lines.length,
    plan.replacements.length,
  );
  const queueMs =
    lines * 12 * Math.ceil(plan.settings.limits.windowMs / plan.settings.limits.orders);
  // The loops notice a step of the wall clock; no due time waits for it.
  const jumpedMs = plan.wallJumps.length * 120_000;
  // Orders for one eSIM wait for each other. A cancel that the API cannot check takes three tries,
  // two minutes apart.
  const ofOneEsim =
    plan.replacements.length +
    plan.batches.flatMap((batch) => batch.lines).filter((line) => line.iccid !== null).length;
  // An order can be accepted at the very end, and then wait for units that never come.
  const placedMs = plan.settings.placedDeadlineMs + 600_000;
  // After a loss at most `maxUnknownOutcomes` entries are looked up at a time, a minute each; so is
  // each possible part.
  const parts = plan.batches
    .flatMap((batch) => batch.lines)
    .reduce((sum, line) => sum + (line.rules?.partial === true ? 15 : 2), 0);
  const lookedUpMs = plan.looksUpFirst ? (parts * 60_000) / plan.settings.maxUnknownOutcomes : 0;
  // A product that was quarantined is tried four hours after its last failed trial at the latest;
  // then its other lines follow.
  // A product that the supplier refuses for ever is tried every hour, each time with another line.
  const quarantineMs = 16_000_000 + lines * 3_600_000;
  const slackMs = 1_800_000 + quarantineMs;
  const sinksMs =
    Math.max(0, troublesEndMs(plan.sinks) - plan.faultsOffMs) + longestRetryMs(plan.sinks);
  return (
    plan.faultsOffMs +
    slackMs +
    queueMs +
    jumpedMs +
    placedMs +
    ofOneEsim * 360_000 +
    lookedUpMs +
    sinksMs +
    heldByLimitsMs(plan)
  );
}
