import type { EntryState } from '../core/entry-state.ts';
import type { Operation } from '../core/operation.ts';
import type { Rejection } from './store.ts';

// An order as people read it.

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

export interface AttemptDetail {
  readonly number: number;
  readonly purpose: string;
  readonly keyName: string;
  readonly openedAt: string;
  readonly closedAt: string | null;
  readonly sent: boolean | null;
  readonly outcome: string | null;
  readonly httpStatus: number | null;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
  readonly durationMs: number | null;
}

export interface EntryDetail {
  readonly reference: string;
  readonly lineId: string;
  readonly operation: Operation;
  readonly asked: string;
  readonly state: EntryState;
  readonly inDoubt: boolean;
  readonly heldFrom: EntryState | null;
  /** Others took its place: the line stands by those. */
  readonly replaced: boolean;
  readonly nextAttemptAt: string | null;
  readonly nextStep: 'send' | 'lookup';
  readonly orderNumber: string | null;
  readonly cost: string | null;
  readonly currency: string | null;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
  readonly reviewReason: string | null;
  readonly unitCount: number;
  readonly attempts: readonly AttemptDetail[];
}

export interface OrderDetail {
  readonly id: number;
  readonly source: string;
  readonly orderId: string;
  readonly receivedAt: string;
  readonly updatedAt: string;
  readonly entries: readonly EntryDetail[];
  readonly rejections: readonly Rejection[];
  readonly deliveries: readonly { sink: string; done: boolean; doneAt: string | null; lastError: string | null }[];
}
