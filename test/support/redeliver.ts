import type { Redelivery } from '../../src/core/operator/operator-command.ts';
import type { Store } from '../../src/store/store.ts';

/** Has results delivered again, as an operator does who asks for it. */
export async function redeliver(store: Store, which: Redelivery, nowMs: number): Promise<number> {
  const request = { which, actor: 'test', reason: 'the shop lost them', nowMs };
  let due = 0;
  for (let afterId: number | null = 0; afterId !== null; ) {
    const done: { due: number; nextId: number | null } = await store.operator.redeliver({
      ...request,
      afterId,
    });
    due += done.due;
    afterId = done.nextId;
  }
  return due;
}
