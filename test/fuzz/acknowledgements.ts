import { z } from 'zod';
import { openReadOnly } from '../../src/store/sqlite/database.ts';

const order = z.object({
  source: z.string(),
  order_id: z.string(),
  lines: z.array(z.object({ line_id: z.string(), reference: z.string() })).min(1),
});
const acknowledgement = z.union([
  order.transform((one) => [one]),
  z.object({ orders: z.array(order).min(1) }).transform(({ orders }) => orders),
]);

/** Everything that was acknowledged in a run, to compare it with the outbox at the end. */
export class Acknowledgements {
  readonly #lines = new Set<string>();

  get count(): number {
    return this.#lines.size;
  }

  /** Records an answer if it is an acknowledgement. Returns whether it is. */
  take(answer: unknown): boolean {
    const parsed = acknowledgement.safeParse(answer);
    if (!parsed.success) return false;
    for (const { source, order_id, lines } of parsed.data) {
      for (const { line_id, reference } of lines)
        this.#lines.add(keyOf(source, order_id, line_id, reference));
    }
    return true;
  }

  /**
   * Acknowledged lines that the outbox does not have, and lines of the outbox that were not
   * acknowledged.
   */
  against(path: string): { lost: readonly string[]; untold: readonly string[] } {
    const database = openReadOnly(path);
    const rows = database
      .prepare<[], { source: string; order_id: string; line_id: string; reference: string }>(
        'SELECT source, order_id, line_id, reference FROM outbox',
      )
      .all();
    database.close();
    const stored = new Set(
      rows.map((row) => keyOf(row.source, row.order_id, row.line_id, row.reference)),
    );
    return {
      lost: [...this.#lines].filter((line) => !stored.has(line)),
      untold: [...stored].filter((line) => !this.#lines.has(line)),
    };
  }
}

function keyOf(...parts: readonly string[]): string {
  return JSON.stringify(parts);
}
