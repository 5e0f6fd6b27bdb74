/** An order as a shop has it. */
export interface StubOrder {
  /** Exact, also beyond 2^53. */
  id: string;
  modifiedMs: number;
  /** The order without its id and times. */
  body: Record<string, unknown>;
  refunds: Record<string, unknown>[];
}

/** What a shop answers; `headers` beside its own. */
export interface Reply {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A call as the shop sees it. */
export interface ShopRequest {
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

/**
 * JSON with ids as numbers, however large: `"id":"820982911946154508"` becomes a number in the
 * text.
 */
export function withNumericIds(value: unknown): string {
  return JSON.stringify(value).replace(/"(id|line_item_id)":"(\d+)"/g, '"$1":$2');
}

export const listIn = (value: unknown): Record<string, unknown>[] =>
  Array.isArray(value) ? value : [];
