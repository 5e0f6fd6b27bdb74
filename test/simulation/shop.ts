import type { AcceptableLine } from '../../src/core/order/order-request.ts';
import type { IntakeBatch } from '../../src/store/intake/accept-batch.ts';
import type { ResultsDisk } from './results-disk.ts';
import { cancelLine, plainLine, topupLine, type Replacement, type RunPlan } from './run-plan.ts';
import type { SimWorker } from './sim-worker.ts';
import type { VirtualTime } from './virtual-time.ts';

interface SentBatch {
  readonly lines: readonly AcceptableLine[];
  acknowledged: boolean;
  /** The worker that it was sent to. After a restart it is sent to the next one. */
  givenTo: SimWorker | null;
}

/** A source that orders for eSIMs of others. */
const foreignSource = 'other';

/** How long the shop waits before it sends a batch again that got an error. */
const againMs = 20_000;

/**
 * The shop: sends orders, sends them again until they are acknowledged, and cancels some delivered
 * eSIMs.
 */
export class Shop {
  readonly #time: VirtualTime;
  readonly #results: ResultsDisk;
  readonly #wallMs: () => number;
  readonly #worker: () => SimWorker | null;
  readonly #onAcknowledged: (line: AcceptableLine, reference: string) => void;
  readonly #onRefused: (error: unknown) => void;
  readonly #sentBatches: SentBatch[] = [];
  #expected = 0;

  constructor(options: {
    time: VirtualTime;
    results: ResultsDisk;
    wallMs: () => number;
    worker: () => SimWorker | null;
    onAcknowledged: (line: AcceptableLine, reference: string) => void;
    onRefused: (error: unknown) => void;
  }) {
    this.#time = options.time;
    this.#results = options.results;
    this.#wallMs = options.wallMs;
    this.#worker = options.worker;
    this.#onAcknowledged = options.onAcknowledged;
    this.#onRefused = options.onRefused;
  }

  open(plan: RunPlan): void {
    for (const batch of plan.batches) {
      if (batch.byIntake === true) continue;
      for (const atMs of [batch.atMs, ...batch.againAtMs]) this.sendAt(atMs, batch.lines);
    }
    for (const [index, follow] of plan.replacements.entries()) {
      this.#replacement(
        { ...follow, orderId: follow.orderId, number: index + 1 },
        plan.faultsOffMs + 1_200_000,
      );
    }
  }

  get allAcknowledged(): boolean {
    return this.#expected === 0 && this.#sentBatches.every((sentBatch) => sentBatch.acknowledged);
  }

  /** The outbox is lost: the shop sends everything again. */
  sendAllAgain(): void {
    for (const sentBatch of this.#sentBatches)
      Object.assign(sentBatch, { acknowledged: false, givenTo: null });
  }

  /** Sends everything that is not acknowledged to the current worker. */
  offer(): void {
    const worker = this.#worker();
    if (worker === null || !worker.ready) return;
    for (const sentBatch of this.#sentBatches) {
      if (sentBatch.acknowledged || sentBatch.givenTo === worker) continue;
      sentBatch.givenTo = worker;
      const batch: IntakeBatch = {
        nowMs: this.#wallMs(),
        fileId: null,
        lines: sentBatch.lines.map((line) => ({ ...line, lineNumber: null })),
        rejections: [],
      };
      worker.accept(batch).then(
        (accepted) => {
          sentBatch.acknowledged = true;
          for (const [index, line] of sentBatch.lines.entries()) {
            const { status, reference } = accepted[index] ?? {};
            if (status !== 'refused') this.#onAcknowledged(line, reference ?? '');
          }
        },
        (error: unknown) => {
          this.#onRefused(error);
          this.#time.after(againMs, () => {
            sentBatch.givenTo = null;
            this.offer();
          });
        },
      );
    }
  }

  /** Sends an order at a time, once or until it is acknowledged. */
  sendAt(atMs: number, lines: readonly AcceptableLine[]): void {
    this.#expected += 1;
    this.#time.after(atMs - this.#time.nowMs, () => {
      this.#expected -= 1;
      this.#sentBatches.push({ lines, acknowledged: false, givenTo: null });
      this.offer();
    });
  }

  /** Waits for the result of an order, and then orders something for its first eSIM. */
  #replacement(follow: Replacement & { readonly number: number }, untilMs: number): void {
    this.#expected += 1;
    const look = (): void => {
      const document = this.#results.read('shop', follow.orderId);
      const units =
        document?.lines.flatMap((line) => line.entries.flatMap((entry) => entry.units)) ?? [];
      const iccid = units.find((unit) => unit.iccid !== undefined)?.iccid;
      const over = document !== null && document.state !== 'in_progress' && iccid === undefined;
      if (iccid === undefined && !over && this.#time.nowMs < untilMs) {
        this.#time.after(20_000, look);
        return;
      }
      this.#expected -= 1;
      if (iccid === undefined) return;
      const what =
        follow.operation === 'esim_cancel' ? cancelLine : { ...topupLine, plan: 'plan1' };
      const orderId = `f${follow.number}-${follow.orderId}`;
      const source = follow.isForeign === true ? foreignSource : plainLine.source;
      const line = { ...plainLine, ...what, source, orderId, iccid };
      this.sendAt(this.#time.nowMs + follow.afterMs, [line]);
    };
    this.#time.after(1000, look);
  }
}
