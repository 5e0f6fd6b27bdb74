import type { Reply, ShopRequest, StubOrder } from './shop-order.ts';

interface FulfilmentOrderLine {
  readonly id: string;
  readonly lineId: string;
  remaining: number;
}

interface FulfilmentOrder {
  readonly id: string;
  readonly orderId: string;
  status: string;
  readonly lines: FulfilmentOrderLine[];
}

/** What the shop fulfilled, and what the order had in its metafields then. */
interface Fulfilment {
  readonly orderId: string;
  readonly lines: readonly { readonly lineId: string; readonly quantity: number }[];
  readonly notified: boolean;
  readonly metafields: string;
}

interface Asked {
  readonly query: string;
  readonly variables: {
    readonly id?: string;
    readonly after?: string | null;
    readonly tags?: readonly string[];
    readonly metafields?: readonly {
      ownerId: string;
      namespace: string;
      key: string;
      type: string;
      value: string;
    }[];
    readonly fulfillment?: {
      readonly notifyCustomer?: boolean;
      readonly lineItemsByFulfillmentOrder: readonly {
        readonly fulfillmentOrderId: string;
        readonly fulfillmentOrderLineItems?: readonly {
          readonly id: string;
          readonly quantity: number;
        }[];
      }[];
    };
  };
}

const numberIn = (gid: string): string => gid.slice(gid.lastIndexOf('/') + 1);

/**
 * The orders of a Shopify shop, written by the GraphQL Admin API, as it is documented: errors come
 * with the status 200, an empty list of lines fulfils a whole fulfilment order, no more than what
 * remains can be fulfilled, each fulfilment is one of its own, metafields and tags are set, and
 * calls cost points.
 */
export class ShopifyOrders {
  readonly fulfilments: Fulfilment[] = [];
  readonly fulfilmentOrders: FulfilmentOrder[] = [];
  readonly metafields = new Map<string, Map<string, string>>();
  readonly tags = new Map<string, string[]>();
  /** Points that are left; null: there is no limit. */
  points: number | null = null;
  mayWrite = true;
  /** How many fulfilment orders, and how many lines of one, are on a page. */
  pageSize = 50;
  onUpdated: (order: StubOrder) => void = () => undefined;
  readonly #orders: readonly StubOrder[];
  readonly #nowMs: () => number;

  constructor(orders: readonly StubOrder[], nowMs: () => number) {
    this.#orders = orders;
    this.#nowMs = nowMs;
  }

  /** The shop makes one fulfilment order of an order, or several: the ids of the lines of each. */
  fulfilFrom(
    orderId: string,
    ...places: readonly (readonly { lineId: string; quantity: number }[])[]
  ): void {
    for (const [place, lines] of places.entries()) {
      const id = `gid://shopify/FulfillmentOrder/${orderId}${place}`;
      const items = lines.map(({ lineId, quantity }) => {
        return {
          id: `gid://shopify/FulfillmentOrderLineItem/${lineId}${place}9`,
          lineId,
          remaining: quantity,
        };
      });
      this.fulfilmentOrders.push({ id, orderId, status: 'OPEN', lines: items });
    }
  }

  /** One piece more of a line is to be fulfilled: its order was edited. */
  raise(orderId: string, lineId: string): void {
    const id = `gid://shopify/FulfillmentOrder/${orderId}8`;
    const added = {
      id: `gid://shopify/FulfillmentOrderLineItem/${lineId}89`,
      lineId,
      remaining: 1,
    };
    this.fulfilmentOrders.push({ id, orderId, status: 'OPEN', lines: [added] });
  }

  /** How many pieces of a line were fulfilled. */
  fulfilled(lineId: string): number {
    const lines = this.fulfilments.flatMap((fulfilment) => fulfilment.lines);
    return lines.reduce((sum, line) => sum + (line.lineId === lineId ? line.quantity : 0), 0);
  }

  /** A call of the GraphQL Admin API. */
  answer({ body }: Pick<ShopRequest, 'body'>): Reply {
    const asked: Asked = JSON.parse(body);
    const name = /(?:query|mutation) (\w+)/.exec(asked.query)?.[1] ?? '';
    if (this.points !== null && this.points < 10) return this.#throttled();
    if (asked.query.startsWith('mutation') && !this.mayWrite) {
      return ok({ errors: [{ message: 'Access denied', extensions: { code: 'ACCESS_DENIED' } }] });
    }
    switch (name) {
      case 'OrderToWrite':
        return ok({ data: { order: this.#shownOrder(asked) } });
      case 'MoreLines':
        return ok({
          data: {
            fulfillmentOrder: {
              lineItems: this.#pageOf(this.#fulfilmentOrder(asked.variables.id), asked),
            },
          },
        });
      case 'SetMetafields':
        return this.#setMetafields(asked);
      case 'Fulfil':
        return this.#fulfil(asked);
      case 'AddTag':
      case 'RemoveTag':
        return this.#changeTags(asked, name === 'AddTag');
      default:
        return ok({ errors: [{ message: `Field '${name}' doesn't exist` }] });
    }
  }

  #throttled(): Reply {
    const throttleStatus = {
      maximumAvailable: 1000,
      currentlyAvailable: this.points,
      restoreRate: 1000,
    };
    this.points = null;
    const extensions = { cost: { requestedQueryCost: 60, actualQueryCost: null, throttleStatus } };
    return ok({
      errors: [{ message: 'Throttled', extensions: { code: 'THROTTLED' } }],
      extensions,
    });
  }

  #shownOrder({ query, variables }: Asked): unknown {
    const orderId = numberIn(variables.id ?? '');
    if (!query.includes('namespace: "$app:order_sync"'))
      throw new Error('our namespace is asked for');
    const all = this.fulfilmentOrders.filter((one) => one.orderId === orderId);
    const start =
      variables.after === null || variables.after === undefined ? 0 : Number(variables.after);
    const page = all.slice(start, start + this.pageSize);
    const end = start + page.length;
    return {
      tags: this.tags.get(orderId) ?? [],
      metafields: {
        nodes: [...(this.metafields.get(orderId) ?? [])].map(([key, value]) => ({ key, value })),
      },
      fulfillmentOrders: {
        pageInfo: { hasNextPage: end < all.length, endCursor: String(end) },
        nodes: page.map((one) => ({
          id: one.id,
          status: one.status,
          lineItems: this.#pageOf(one, null),
        })),
      },
    };
  }

  #pageOf({ lines }: FulfilmentOrder, asked: Asked | null): unknown {
    const start = Number(asked?.variables.after ?? 0);
    const page = lines.slice(start, start + this.pageSize);
    const end = start + page.length;
    return {
      pageInfo: { hasNextPage: end < lines.length, endCursor: String(end) },
      nodes: page.map(({ id, lineId, remaining }) => {
        return {
          id,
          remainingQuantity: remaining,
          lineItem: { id: `gid://shopify/LineItem/${lineId}` },
        };
      }),
    };
  }

  #setMetafields({ variables }: Asked): Reply {
    for (const { ownerId, namespace, key, type, value } of variables.metafields ?? []) {
      if (namespace !== '$app:order_sync')
        return refused('metafieldsSet', 'Namespace is not yours');
      const orderId = numberIn(ownerId);
      const fields = this.metafields.get(orderId) ?? new Map<string, string>();
      // The shop writes JSON in its own form.
      this.metafields.set(
        orderId,
        fields.set(key, type === 'json' ? JSON.stringify(JSON.parse(value), null, 1) : value),
      );
    }
    return this.#changed(numberIn(variables.metafields?.[0]?.ownerId ?? ''), 'metafieldsSet');
  }

  #fulfil({ variables }: Asked): Reply {
    const { notifyCustomer = false, lineItemsByFulfillmentOrder: parts = [] } =
      variables.fulfillment ?? {};
    const [part] = parts;
    if (part === undefined || parts.length !== 1)
      return refused('fulfillmentCreate', 'One fulfilment order is expected');
    const one = this.#fulfilmentOrder(part.fulfillmentOrderId);
    if (!['OPEN', 'IN_PROGRESS'].includes(one.status)) {
      return refused(
        'fulfillmentCreate',
        `Fulfillment order ${numberIn(one.id)} has an unfulfillable status= ${one.status.toLowerCase()}.`,
      );
    }
    const asked = part.fulfillmentOrderLineItems ?? [];
    const wanted =
      asked.length === 0
        ? one.lines.map(({ id, remaining }) => ({ id, quantity: remaining }))
        : asked;
    const lines = wanted.map(({ id, quantity }) => ({
      line: one.lines.find((line) => line.id === id),
      quantity,
    }));
    if (
      lines.some(
        ({ line, quantity }) => line === undefined || quantity < 1 || quantity > line.remaining,
      )
    ) {
      return refused(
        'fulfillmentCreate',
        'Invalid fulfillment order line item quantity requested.',
      );
    }
    const fulfilled = lines.flatMap(({ line, quantity }) =>
      line === undefined ? [] : [{ lineId: line.lineId, quantity }],
    );
    for (const { line, quantity } of lines) if (line !== undefined) line.remaining -= quantity;
    one.status = one.lines.every(({ remaining }) => remaining === 0) ? 'CLOSED' : 'IN_PROGRESS';
    const metafields = JSON.stringify([...(this.metafields.get(one.orderId) ?? [])]);
    this.fulfilments.push({
      orderId: one.orderId,
      lines: fulfilled,
      notified: notifyCustomer,
      metafields,
    });
    return this.#changed(one.orderId, 'fulfillmentCreate');
  }

  #changeTags({ variables }: Asked, isAdded: boolean): Reply {
    const orderId = numberIn(variables.id ?? '');
    const before = (this.tags.get(orderId) ?? []).filter(
      (tag) => !(variables.tags ?? []).includes(tag),
    );
    this.tags.set(orderId, isAdded ? [...before, ...(variables.tags ?? [])] : before);
    return this.#changed(orderId, isAdded ? 'tagsAdd' : 'tagsRemove');
  }

  #changed(orderId: string, mutation: string): Reply {
    const order = this.#orders.find(({ id }) => id === orderId);
    if (order === undefined) return refused(mutation, 'Order does not exist');
    order.modifiedMs = Math.max(order.modifiedMs, Math.floor(this.#nowMs() / 1000) * 1000);
    this.onUpdated(order);
    return ok({ data: { [mutation]: { userErrors: [] } } });
  }

  #fulfilmentOrder(id: string | undefined): FulfilmentOrder {
    const found = this.fulfilmentOrders.find((one) => one.id === id);
    if (found === undefined) throw new Error(`the shop has no fulfilment order ${id}`);
    return found;
  }
}

const ok = (body: unknown): Reply => ({ status: 200, body });
const refused = (mutation: string, message: string): Reply =>
  ok({ data: { [mutation]: { userErrors: [{ field: null, message }] } } });
