import type { StoreCommand } from '../../src/core/operator/operator-command.ts';
import { cardUnit } from './api-answers.ts';
import type { ApiReadings } from './api-readings.ts';
import type { Coverage } from './coverage.ts';
import type { ApiLedger } from './api-ledger.ts';
import type { SimDisk } from './sim-disk.ts';
import type { ApiCall } from './api-call.ts';
import type { SimWorker } from './sim-worker.ts';
import type { Invariant } from './invariants.ts';

export type OperatorAction =
  | 'hold'
  | 'release'
  | 'cancel'
  | 'retry'
  | 'resolve'
  | 'reorder'
  | 'pause'
  | 'resume';

/** An action of the operator, on one of the entries that exist at that time, or on a scope. */
export interface OperatorActionPlan {
  readonly atMs: number;
  readonly action: OperatorAction;
  /** In [0, 1): which of the possible entries. */
  readonly pick: number;
  /** For `pause` and `resume`. */
  readonly scope: string;
  /** Only on an entry in this state. */
  readonly only?: 'needs_review';
}

/** The states in which each action makes sense. Sometimes the operator tries it in any state. */
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
  readonly heldBy: string | null;
  readonly operation: string;
  readonly iccid: string | null;
  readonly line: string;
  readonly rules: string;
}

/** A call can be in flight when the pause begins; it is sent within this time. */
const inFlightMs = 2000;

const hintOf = (error: unknown): string =>
  error instanceof Error && 'hint' in error ? String(error.hint) : '';

const audited = { actor: 'operator', reason: 'drawn by the simulation' } as const;

/**
 * The operator who acts on the command line, through the code that it uses. Before resolving an order
 * the operator looks it up at the supplier, and enters the truth. A command counts as done when it
 * is sent, whether or not an answer comes.
 */
export class SimOperator {
  /** References on which the operator has acted. */
  readonly touched = new Set<string>();
  readonly cancelled = new Set<string>();
  readonly resolved = new Set<string>();
  /** Orders of which the list of the supplier showed no units. */
  readonly withoutUnits = new Set<string>();
  readonly #reorders = new Map<string, number>();
  readonly #held = new Set<string>();
  readonly #paused = new Map<string, number>();
  readonly #disk: SimDisk;
  readonly #ledger: ApiLedger;
  readonly #coverage: Coverage;
  readonly #nowMs: () => number;
  readonly #keys: Readonly<Record<string, string>>;
  readonly #trace: (what: string) => void;
  readonly #violate: (invariant: Invariant, sentence: string) => void;
  readonly #unitForm: ApiReadings['unitForm'];
  readonly #onPaused: (scope: string) => void;
  readonly #onResumed: (scope: string) => void;
  readonly #mayReorder: (line: string, hasRules: boolean) => boolean;
  readonly #isSoldElsewhere: (line: string, known: ReadonlySet<string>) => boolean;

  constructor(options: {
    disk: SimDisk;
    ledger: ApiLedger;
    coverage: Coverage;
    nowMs: () => number;
    keys: Readonly<Record<string, string>>;
    unitForm: ApiReadings['unitForm'];
    trace: (what: string) => void;
    violate: (invariant: Invariant, sentence: string) => void;
    onPaused: (scope: string) => void;
    onResumed: (scope: string) => void;
    /** Whether the oracle can still judge this line when it is re-ordered now. */
    mayReorder: (line: string, hasRules: boolean) => boolean;
    /**
     * Whether the supplier has an order for this line under a reference that the outbox does not
     * know.
     */
    isSoldElsewhere: (line: string, known: ReadonlySet<string>) => boolean;
  }) {
    this.#disk = options.disk;
    this.#ledger = options.ledger;
    this.#coverage = options.coverage;
    this.#nowMs = options.nowMs;
    this.#keys = options.keys;
    this.#unitForm = options.unitForm;
    this.#trace = options.trace;
    this.#violate = options.violate;
    this.#onPaused = options.onPaused;
    this.#onResumed = options.onResumed;
    this.#mayReorder = options.mayReorder;
    this.#isSoldElsewhere = options.isSoldElsewhere;
  }

  /** How often a line was re-ordered, at most. */
  reordersOf(source: string, orderId: string, lineId: string): number {
    return this.reordersOfLine(`${source}/${orderId}/${lineId}`);
  }

  reordersOfLine(name: string): number {
    return this.#reorders.get(name) ?? 0;
  }

  /** The outbox is lost, and the actions on it with it. Only the re-orders still count. */
  forget(): void {
    const { touched, cancelled, resolved, withoutUnits } = this;
    for (const asked of [touched, cancelled, resolved, withoutUnits, this.#held, this.#paused])
      asked.clear();
  }

  act(worker: SimWorker, plan: OperatorActionPlan): void {
    if (plan.action === 'pause' || plan.action === 'resume')
      return this.#scope(worker, plan.action, plan.scope);
    const states = plan.pick < 0.9 ? suitableStates[plan.action] : undefined;
    const targets = this.#targets().filter(
      (it) =>
        (states === undefined || states.includes(it.state)) &&
        (plan.only === undefined || plan.only === it.state),
    );
    const target = targets[Math.floor(plan.pick * 1000) % Math.max(1, targets.length)];
    if (target !== undefined) this.#entry(worker, plan.action, target);
  }

  /** Resumes all scopes that only an operator can resume, and releases all held entries. */
  resumeAll(worker: SimWorker): void {
    const scopes = this.#disk.connection
      .prepare<[], string>('SELECT scope FROM pauses WHERE probe_steady IS NULL ORDER BY scope')
      .pluck()
      .all();
    for (const scope of scopes) if (worker.ready) this.#scope(worker, 'resume', scope);
    // A command can crash the worker; the rest is asked of the next one.
    if (!worker.ready) return;
    const held = this.#targets().filter(
      (target) => target.state === 'held' && target.heldBy !== 'limit',
    );
    for (const target of held) if (worker.ready) this.#entry(worker, 'release', target);
  }

  #targets(): readonly Target[] {
    return this.#disk.connection
      .prepare<[], Target>(
        `SELECT e.reference, e.state, e.held_by AS heldBy, e.operation, e.iccid, r.source || '/' || r.order_id || '/' || l.line_id AS line, e.rules
         FROM entries e JOIN lines l ON l.id = e.line_id JOIN requests r ON r.id = l.request_id ORDER BY e.id`,
      )
      .all();
  }

  #scope(worker: SimWorker, action: 'pause' | 'resume', scope: string): void {
    if (action === 'pause') this.#onPaused(scope);
    if (action === 'resume') {
      this.#paused.delete(scope);
      this.#onResumed(scope);
    }
    this.#command(worker, { action, scope, ...audited }, () => {
      if (action === 'pause') this.#paused.set(scope, this.#nowMs());
    });
  }

  #entry(
    worker: SimWorker,
    action: Exclude<OperatorAction, 'pause' | 'resume'>,
    target: Target,
  ): void {
    const { reference } = target;
    const command = this.#commandFor(action, target);
    if (command === null) return;
    this.touched.add(reference);
    this.#held.delete(reference);
    if (action === 'cancel') this.cancelled.add(reference);
    if (action === 'resolve') this.resolved.add(reference);
    if (action === 'reorder')
      this.#reorders.set(target.line, (this.#reorders.get(target.line) ?? 0) + 1);
    this.#command(worker, command, () => {
      this.#coverage.hit(`act ${action} ${target.state}`);
      if ('units' in command && command.units?.length === 0) this.withoutUnits.add(reference);
      // A cancel is sent without a reference, so it is not checked.
      if (action === 'hold' && target.operation !== 'esim_cancel') this.#held.add(reference);
    });
  }

  #commandFor(
    action: Exclude<OperatorAction, 'pause' | 'resume'>,
    target: Target,
  ): StoreCommand | null {
    const { reference } = target;
    if (action === 'reorder') {
      if (!this.#mayReorder(target.line, target.rules !== '{}')) return null;
      return { action, reference, confirm: reference, ...audited };
    }
    if (action !== 'resolve') return { action, reference, ...audited };
    const resolve = {
      action,
      reference,
      note: 'seen in the list of the supplier',
      ...audited,
    } as const;
    const iccids: string[] = [];
    if (target.operation === 'esim_cancel') {
      const cancelled = this.#ledger.esims.get(target.iccid ?? '')?.state === 'cancelled';
      return { ...resolve, iccids, as: cancelled ? 'fulfilled' : 'rejected', orderNumber: null };
    }
    const order = this.#ledger.find(reference);
    // The line was bought under another reference, which this entry cannot express.
    const known = new Set(this.#targets().map((it) => it.reference));
    if (order === undefined && this.#isSoldElsewhere(target.line, known)) return null;
    if (order === undefined) return { ...resolve, iccids, as: 'rejected', orderNumber: null };
    // Paid and never delivered: only the supplier can settle it.
    if (order.state === 'failed') return null;
    const isBack = order.state === 'refunded' || order.shownAsRefunded;
    if (isBack) return { ...resolve, iccids, as: 'refunded', orderNumber: order.number };
    // Of every other order the list of the supplier lacks a unit.
    const listed = /[02468]$/.test(order.number) ? order.units : order.units.slice(1);
    const shown = target.operation === 'esim_topup' ? [] : listed;
    const units = shown.map((unit) =>
      target.operation === 'esim_order' ? { iccid: unit } : cardUnit(unit, this.#unitForm),
    );
    return { ...resolve, iccids, units, as: 'fulfilled', orderNumber: order.number };
  }

  #command(worker: SimWorker, command: StoreCommand, onDone: () => void): void {
    const subject =
      'scope' in command ? command.scope : 'reference' in command ? command.reference : '';
    this.#trace(
      `the operator asks to ${command.action} ${subject}${command.action === 'resolve' ? ` as ${command.as}` : ''}`,
    );
    worker.command(command).then(
      () => {
        this.#trace(`done: ${command.action} ${subject}`);
        onDone();
      },
      (error: unknown) => {
        const code = error instanceof Error && 'code' in error ? String(error.code) : '';
        this.#trace(`refused: ${command.action} ${subject}: ${String(error)}`);
        // The operator enters all that the ledger has. A part goes beside what the API showed.
        const entered = 'units' in command ? (command.units?.length ?? 0) : 0;
        const isPart = entered > 0 && entered < (this.#ledger.find(subject)?.units.length ?? 0);
        if (
          !isPart &&
          /an order number that the API gave|are more than the/.test(String(error) + hintOf(error))
        )
          this.#violate('I7', `${subject} cannot be settled as it was bought: ${String(error)}`);
        if (
          ![
            'NOT_ALLOWED',
            'NOT_FOUND',
            'INVALID_INPUT',
            'DATABASE_WRITE_FAILED',
            'DATABASE_BUSY',
            'DISK_FULL',
          ].includes(code) &&
          !code.startsWith('SQLITE_')
        )
          this.#violate('I0', `${command.action} of ${subject} failed: ${String(error)}`);
      },
    );
  }

  /** Called before a call that spends money is sent. */
  onLeaving(call: ApiCall, subject: string): void {
    if (this.#held.has(subject))
      this.#violate('I21', `${subject} was sent although the operator holds it`);
    for (const [scope, sinceMs] of this.#paused) {
      if (this.#nowMs() - sinceMs > inFlightMs && this.#isIn(scope, call))
        this.#violate('I21', `${subject} was sent although the operator paused ${scope}`);
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
