import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import type { Reply } from '../../support/shops/shop-order.ts';
import { send, type ShopCallSeen } from '../read-back/stub-shop.ts';

/**
 * What happens to a call. `refuse`: answered with this, not processed. `lost`: the connection ends
 * before the shop has processed it. `unanswered`: it ends after that. `silent`: it stays open after
 * that, and no answer comes. `late`: it ends at once, and the shop processes the call so many ms
 * later.
 */
export type Fault =
  | { readonly kind: 'none' }
  | { readonly kind: 'refuse'; readonly reply: Reply }
  | { readonly kind: 'lost' }
  | { readonly kind: 'unanswered' | 'silent' }
  | { readonly kind: 'late'; readonly ms: number };

export type FaultOf = (call: ShopCallSeen) => Fault;

/** Answers calls with faults. What is late is awaited at the end of a test. */
export class FaultyAnswers {
  faultOf: FaultOf = () => ({ kind: 'none' });
  readonly #late = new Set<Promise<void>>();

  constructor() {
    onTestFinished(() => this.settled());
  }

  answer(call: ShopCallSeen, response: ServerResponse, process: () => Reply): void {
    const fault = this.faultOf(call);
    if (fault.kind === 'none' || fault.kind === 'refuse') {
      const reply = fault.kind === 'none' ? process() : fault.reply;
      return void send(response, reply.status, reply.body, { ...reply.headers });
    }
    if (fault.kind === 'unanswered' || fault.kind === 'silent') process();
    if (fault.kind === 'silent') return;
    response.destroy();
    if (fault.kind !== 'late') return;
    const late = delay(fault.ms).then(() => void process());
    this.#late.add(late);
    void late.then(() => this.#late.delete(late));
  }

  /** Everything that was late has been processed. */
  async settled(): Promise<void> {
    await Promise.all(this.#late);
  }
}
