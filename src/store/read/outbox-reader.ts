import type { NamedRequest } from '../results/result-name.ts';
import type { AwaitedRecheck } from '../../core/entry/awaited-recheck.ts';
import type { BulkAction, BulkFilter } from '../../core/entry/bulk.ts';
import type { EntryState } from '../../core/entry/states.ts';
import type { Operation } from '../../core/order/operation.ts';
import type { ResultDocument } from '../../core/result/result-document.ts';
import type { SealUsage } from '../sealing/seal-usage.ts';
import type { Redelivery } from '../results/results.ts';
import type { SkuSighting } from '../storefronts/storefront-skus.ts';
import type { QueuedEntry, QueueFacts } from './queue-facts.ts';
import type { Rejection } from '../intake/intake.ts';
import type { Attention, AttentionCounts, AttentionFilter } from './attention.ts';
import type { AuditEntry, AuditFilter } from './audit-log.ts';
import type { FoundEntries } from './bulk-entries.ts';
import type { AttemptDetail, CallFilter, LoggedCall } from './call-log.ts';
import type { DeliveryFilter, ListedDelivery } from './delivery-list.ts';
import type { Page, PageRequest } from './page.ts';
import type { PauseEffect } from './pause-effects.ts';
import type { PausedSink } from './sink-pauses.ts';
import type { FlaggedSku, MappedLine, Repairable, RepairFilter } from './sku-repairs.ts';
import type { DaySpending, HourStatistics, MinuteCalls, Period } from './statistics.ts';
import type { TimelineEvent } from './timeline.ts';

/** Reads the outbox for people; also while another process writes to it. */
export interface OutboxReader {
  listOrders(filter: OrderFilter): readonly OrderSummary[];
  showOrder(source: string | null, orderId: string): OrderDetail | null;
  showEntry(reference: string): OrderDetail | null;
  counts(): Readonly<Record<EntryState, number>>;
  /** The attention list: what needs a decision or holds up others first, then the newest first. */
  attention(limit: number, filter?: AttentionFilter): readonly Attention[];
  /** The same, a page at a time. */
  attentionPage(filter: AttentionFilter, page: PageRequest): Page<Attention>;
  /** How many rows of the attention list there are, by kind; of the first `atMost`, those that matter most before the others. */
  attentionCounts(filter?: AttentionFilter, atMost?: number): AttentionCounts;
  /** The file of the result of an order, in the folder of the results. */
  resultFile(request: NamedRequest): string;
  resultDocument(requestId: number): { version: number; document: ResultDocument };
  /** An order, and the version of its result, which rises when the result changes. */
  findOrder(source: string, orderId: string): { requestId: number; version: number } | null;
  /** See `readSealUsage`. */
  sealUsage(): readonly SealUsage[];
  /** The versions of the results of these requests. At most some hundreds at once. */
  resultVersions(requestIds: readonly number[]): ReadonlyMap<number, number>;
  backlog(): Backlog;
  /** The SKUs of a storefront's orders; those that the SKU map does not know come first. */
  skuSightings(source: string): readonly SkuSighting[];
  /** The line of an entry, for another SKU map; null for a reference that is not known. */
  mappedLine(reference: string): MappedLine | null;
  /** See `readFlaggedSku`. */
  flaggedSku(id: string): FlaggedSku | null;
  /** See `readRepairable`. */
  repairable(filter: RepairFilter): Repairable;
  /** The paused scopes, the oldest first, with what each holds up. */
  pauses(): readonly PauseEffect[];
  /** How many results would be delivered again. */
  redeliveryCount(which: Redelivery): number;
  /** How many results wait for each of these sinks, at most so many of each. */
  dueResults(sinks: readonly string[], atMost: number): ReadonlyMap<string, number>;
  /** The sinks that take no results at the moment. */
  sinkPauses(): readonly PausedSink[];
  /** What decides when entries are sent. */
  queueFacts(nowMs: number): QueueFacts;
  /** The place of one entry in its queue; null for a reference that is not known. */
  queuedEntry(reference: string): QueuedEntry | null;
  /** What a command for many entries would concern, by state: at most `limit` references in all. */
  findForBulk(action: BulkAction, filter: BulkFilter, limit: number): readonly FoundEntries[];
  /** Everything that happened to an order, the first thing first. */
  timeline(requestId: number, page: PageRequest): Page<TimelineEvent>;
  /** What people and callers decided, and which scopes were paused and resumed; the last first. */
  auditLog(filter: AuditFilter, page: PageRequest): Page<AuditEntry>;
  /** The calls for all entries, the last first. */
  callLog(filter: CallFilter, page: PageRequest): Page<LoggedCall>;
  /** Results that are not delivered yet. */
  deliveries(filter: DeliveryFilter, page: PageRequest): Page<ListedDelivery>;
  /** See `readHourStatistics`. */
  hourStatistics(period: Period): readonly HourStatistics[];
  /** See `readMinuteCalls`. */
  minuteCalls(period: Period): readonly MinuteCalls[];
  /** See `readSpending`. */
  spending(period: Period): readonly DaySpending[];
}

export interface OrderFilter {
  readonly state?: EntryState;
  readonly source?: string;
  /** See `findOrders`. */
  readonly search?: string;
  /** Only orders that stand in the attention list. */
  readonly attention?: boolean;
  readonly limit: number;
  /** Continues after the order of this id (descending). */
  readonly beforeId?: number;
}

export interface OrderSummary {
  readonly id: number;
  readonly source: string;
  readonly orderId: string;
  readonly lines: number;
  readonly states: Readonly<Partial<Record<EntryState, number>>>;
  readonly rejectedLines: number;
  readonly receivedAt: string;
  readonly updatedAt: string;
}

export interface EntryDetail {
  readonly reference: string;
  readonly lineId: string;
  readonly operation: Operation;
  readonly asked: string;
  readonly state: EntryState;
  /** An attempt may have been processed, and nothing has settled it yet. */
  readonly outcomeUnknown: boolean;
  /** Something of it may be bought, also by an outbox that was lost. */
  readonly mayBeBought: boolean;
  readonly heldFrom: EntryState | null;
  /** Other entries took its place: the line is judged by those. */
  readonly replaced: boolean;
  /** Its line came in the place of another line of the shop's order, and nobody has decided whether both are one. */
  readonly hasOtherId: boolean;
  readonly nextAttemptAt: string | null;
  readonly nextStep: 'send' | 'lookup';
  /** Until its order was read again from the shop there is no next attempt; null: it does not wait for that. */
  readonly awaitsRecheck: AwaitedRecheck | null;
  /** The pauses that keep its next call from being made. */
  readonly pausedBy: readonly { readonly scope: string; readonly reason: string; readonly since: string }[];
  /** The product that it buys, as a scope; null for a cancel. */
  readonly product: string | null;
  /** How many entries of its product have an unknown outcome, itself included. */
  readonly unknownOfProduct: number;
  readonly orderNumber: string | null;
  readonly cost: string | null;
  readonly currency: string | null;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
  readonly reviewReason: string | null;
  readonly unitCount: number;
  /** When its units were shredded; null: they are there, or there are none. */
  readonly shreddedAt: string | null;
  /** How many units nobody has of what a person found to be bought. */
  readonly unitsMissing: number;
  readonly attempts: readonly AttemptDetail[];
}

/** One decision: who decided what about which subject (a reference, or the order itself), and why. */
export interface AuditDetail {
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  readonly subject: string;
  readonly reason: string;
}

export interface DeliveryDetail {
  readonly sink: string;
  readonly done: boolean;
  readonly doneAt: string | null;
  readonly lastError: string | null;
  /** It failed for days. The worker tries it again only when a person asks, or when the result changes. */
  readonly givenUpAt: string | null;
}

export interface OrderDetail {
  readonly id: number;
  readonly source: string;
  readonly orderId: string;
  readonly receivedAt: string;
  readonly updatedAt: string;
  readonly entries: readonly EntryDetail[];
  readonly rejections: readonly Rejection[];
  readonly deliveries: readonly DeliveryDetail[];
  /** What people and callers decided about it, oldest first. */
  readonly audit: readonly AuditDetail[];
}

export interface Backlog {
  readonly open: number;
  readonly oldestOpenMs: number | null;
  readonly dueDeliveries: number;
}
