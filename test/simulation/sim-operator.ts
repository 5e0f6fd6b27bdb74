import type { StoreCommand } from '../../src/core/entry/operator-command.ts';
import type { Coverage } from './coverage.ts';
import type { ApiLedger } from './api-ledger.ts';
import type { SimDisk } from './sim-disk.ts';
import type { ApiCall } from './api-call.ts';
import type { SimWorker } from './sim-worker.ts';

export type OperatorAction = 'hold' | 'release' | 'cancel' | 'retry' | 'resolve' | 'reorder' | 'pause' | 'resume';

/** Something that a person does at some time, to an entry or to a scope of which there is one then. */
export interface OperatorActionPlan {
  readonly atMs: number;
  readonly action: OperatorAction;
  /** In [0, 1): which of those that it can be done to. */
  readonly pick: number;
  /** For `pause` and `resume`. */
  readonly scope: string;
}

/** What it makes sense to try each action on. Now and then a person tries it on anything. */
const suitableStates: Readonly<Partial<Record<OperatorAction, readonly string[]>>> = {
  hold: ['pending', 'waiting', 'unknown', 'placed'],
  release: ['held'],
  cancel: ['pending', 'waiting', 'held'],
  retry: ['waiting', 'unknown', 'placed', 'needs_review'],
  resolve: ['needs_review'],
  reorder: ['rejected', 'expired', 'cancelled'],
};

interface Target {
  readonly reference: string;
  readonly state: string;
  readonly operation: string;
  readonly iccid: string | null;
  readonly line: string;
  readonly rules: string;
}

/** A command may have left before the pause was there; it takes this long at most. */
const inFlightMs = 2000;

const who = { actor: 'a person', reason: 'as the simulation wants it' } as const;

/**
 * Whoever acts on the command line, through the code that it uses. A person looks into the supplier's list before saying
 * what became of an order, and says the truth. What was asked counts as done from then on, whether or not an answer came.
 */
export class SimOperator {
  /** References that a person asked something of. */
  readonly touched = new Set<string>();
  readonly cancelled = new Set<string>();
  readonly resolved = new Set<string>();
  readonly #reorders = new Map<string, number>();
  readonly #held = new Set<string>();
  readonly #stopped = new Map<string, number>();
  readonly #disk: SimDisk;
  readonly #ledger: ApiLedger;
  readonly #coverage: Coverage;
  readonly #nowMs: () => number;
  readonly #keys: Readonly<Record<string, string>>;
  readonly #trace: (what: string) => void;
  readonly #violate: (invariant: string, sentence: string) => void;
  readonly #onResumed: (scope: string) => void;
  readonly #mayReorder: (line: string, hasRules: boolean) => boolean;
  readonly #isSoldElsewhere: (line: string, known: ReadonlySet<string>) => boolean;

  constructor(options: {
    disk: SimDisk;
    ledger: ApiLedger;
    coverage: Coverage;
    nowMs: () => number;
    keys: Readonly<Record<string, string>>;
    trace: (what: string) => void;
    violate: (invariant: string, sentence: string) => void;
    onResumed: (scope: string) => void;
    /** Whether it can be told afterwards what this line became, if it is ordered anew now. */
    mayReorder: (line: string, hasRules: boolean) => boolean;
    /** Whether the list of the supplier has an order for this line under a reference that the outbox does not know. */
    isSoldElsewhere: (line: string, known: ReadonlySet<string>) => boolean;
  }) {
    this.#disk = options.disk;
    this.#ledger = options.ledger;
    this.#coverage = options.coverage;
    this.#nowMs = options.nowMs;
    this.#keys = options.keys;
    this.#trace = options.trace;
    this.#violate = options.violate;
    this.#onResumed = options.onResumed;
    this.#mayReorder = options.mayReorder;
    this.#isSoldElsewhere = options.isSoldElsewhere;
  }

  /** How often a line was ordered anew, at most. */
  reordersOf(source: string, orderId: string, lineId: string): number {
    return this.reordersOfLine(`${source}/${orderId}/${lineId}`);
  }

  reordersOfLine(name: string): number {
    return this.#reorders.get(name) ?? 0;
  }

  /** The outbox is gone: what was asked of it was asked of nobody. Only that lines were ordered anew stays true. */
  forget(): void {
    for (const asked of [this.touched, this.cancelled, this.resolved, this.#held, this.#stopped]) asked.clear();
  }

  act(worker: SimWorker, plan: OperatorActionPlan): void {
    if (plan.action === 'pause' || plan.action === 'resume') return this.#scope(worker, plan.action, plan.scope);
    const states = plan.pick < 0.9 ? suitableStates[plan.action] : undefined;
    const targets = this.#targets().filter((it) => states === undefined || states.includes(it.state));
    const target = targets[Math.floor(plan.pick * 1000) % Math.max(1, targets.length)];
    if (target !== undefined) this.#entry(worker, plan.action, target);
  }

  /** Lets everything go on that stands still by a person's word or waits for one. */
  resumeAll(worker: SimWorker): void {
    const scopes = this.#disk.connection
      .prepare<[], string>('SELECT scope FROM pauses WHERE probe_at_ms IS NULL ORDER BY scope')
      .pluck()
      .all();
    for (const scope of scopes) if (worker.ready) this.#scope(worker, 'resume', scope);
    // It may have died of what it was asked: what is left is asked of the next one.
    if (!worker.ready) return;
    const held = this.#targets().filter((target) => target.state === 'held');
    for (const target of held) if (worker.ready) this.#entry(worker, 'release', target);
  }

  #targets(): readonly Target[] {
    return this.#disk.connection
      .prepare<[], Target>(
        `SELECT e.reference, e.state, e.operation, e.iccid, r.source || '/' || r.order_id || '/' || l.line_id AS line, e.rules
         FROM entries e JOIN lines l ON l.id = e.line_id JOIN requests r ON r.id = l.request_id ORDER BY e.id`,
      )
      .all();
  }

  #scope(worker: SimWorker, action: 'pause' | 'resume', scope: string): void {
    if (action === 'resume') {
      this.#stopped.delete(scope);
      this.#onResumed(scope);
    }
    this.#command(worker, { action, scope, ...who }, () => {
      if (action === 'pause') this.#stopped.set(scope, this.#nowMs());
    });
  }

  #entry(worker: SimWorker, action: Exclude<OperatorAction, 'pause' | 'resume'>, target: Target): void {
    const { reference } = target;
    const command = this.#commandFor(action, target);
    if (command === null) return;
    this.touched.add(reference);
    this.#held.delete(reference);
    if (action === 'cancel') this.cancelled.add(reference);
    if (action === 'resolve') this.resolved.add(reference);
    if (action === 'reorder') this.#reorders.set(target.line, (this.#reorders.get(target.line) ?? 0) + 1);
    this.#command(worker, command, () => {
      this.#coverage.hit(`act ${action} ${target.state}`);
      // A cancel has no reference on the wire.
      if (action === 'hold' && target.operation !== 'esim_cancel') this.#held.add(reference);
    });
  }

  #commandFor(action: Exclude<OperatorAction, 'pause' | 'resume'>, target: Target): StoreCommand | null {
    const { reference } = target;
    if (action === 'reorder') {
      if (!this.#mayReorder(target.line, target.rules !== '{}')) return null;
      return { action, reference, confirm: reference, ...who };
    }
    if (action !== 'resolve') return { action, reference, ...who };
    const resolve = { action, reference, note: 'seen in the list of the supplier', ...who } as const;
    const iccids: string[] = [];
    if (target.operation === 'esim_cancel') {
      const cancelled = this.#ledger.esims.get(target.iccid ?? '')?.state === 'cancelled';
      return { ...resolve, iccids, as: cancelled ? 'fulfilled' : 'rejected', orderNumber: null };
    }
    const order = this.#ledger.find(reference);
    // Bought all the same, in another way: what is to be said of this reference is more than it can hold.
    const known = new Set(this.#targets().map((it) => it.reference));
    if (order === undefined && this.#isSoldElsewhere(target.line, known)) return null;
    if (order === undefined) return { ...resolve, iccids, as: 'rejected', orderNumber: null };
    // Paid for and never delivered: that is the supplier's to settle.
    if (order.state === 'failed') return null;
    const isBack = order.state === 'refunded' || order.shownAsRefunded;
    return { ...resolve, iccids, as: isBack ? 'refunded' : 'fulfilled', orderNumber: order.number };
  }

  #command(worker: SimWorker, command: StoreCommand, onDone: () => void): void {
    const subject = 'scope' in command ? command.scope : 'reference' in command ? command.reference : '';
    this.#trace(`a person asks to ${command.action} ${subject}${'as' in command ? ` as ${command.as}` : ''}`);
    worker.command(command).then(
      () => {
        this.#trace(`done: ${command.action} ${subject}`);
        onDone();
      },
      (error: unknown) => {
        const code = error instanceof Error && 'code' in error ? String(error.code) : '';
        this.#trace(`refused: ${command.action} ${subject}: ${String(error)}`);
        if (
          !['REFUSED', 'NOT_FOUND', 'INVALID_INPUT', 'DATABASE_WRITE_FAILED'].includes(code) &&
          !code.startsWith('SQLITE_')
        )
          this.#violate('I0', `${command.action} of ${subject} failed: ${String(error)}`);
      },
    );
  }

  /** Money is about to leave for this. */
  onLeaving(call: ApiCall, subject: string): void {
    if (this.#held.has(subject)) this.#violate('I21', `${subject} was sent although a person holds it`);
    for (const [scope, sinceMs] of this.#stopped) {
      if (this.#nowMs() - sinceMs > inFlightMs && this.#isIn(scope, call))
        this.#violate('I21', `${subject} was sent although a person stopped ${scope}`);
    }
  }

  #isIn(scope: string, call: ApiCall): boolean {
    const [kind, name = ''] = scope.split(':');
    if (kind === 'account') return true;
    if (kind === 'key') return call.authorization === `Bearer ${this.#keys[name] ?? ''}`;
    if (kind === 'family') return call.path.startsWith('/esim') === (name === 'esim');
    return call.body?.includes(`"currency":"${name}"`) === true;
  }
}
