import { parseExactJson } from '../../../src/core/exact-json.ts';
import {
  listIn,
  type Reply,
  type ShopRequest,
  type StubOrder,
  withNumericIds,
} from './shop-order.ts';

type Fields = Record<string, unknown>;

interface Note {
  readonly id: number;
  readonly note: string;
  readonly customer_note: boolean;
}

/** The order as it was when the shop sent its mail. */
interface Mail {
  readonly orderId: string;
  readonly kind: 'completed' | 'note';
  readonly text: string;
}

/**
 * A longer note is mailed and not kept; one with a character of four bytes, too, where the tables
 * of the shop are old.
 */
const mostNoteBytes = 65_535;
const fourBytes = /[\u{10000}-\u{10ffff}]/u;

/** As the shop's controllers refuse calls of an order that is not there. */
const absent = (method: string, part: string | undefined): Reply => {
  if (method === 'POST') return error(404, 'woocommerce_rest_order_invalid_id');
  return error(
    method === 'PUT' && part === undefined ? 400 : 404,
    'woocommerce_rest_shop_order_invalid_id',
  );
};

const error = (status: number, code: string): Reply => ({
  status,
  body: { code, message: code, data: { status } },
});

/**
 * The orders of a WooCommerce shop and what can be written into them, as its controllers do it:
 * fields are set by their key, a line without an id is added, fields of lines make it calculate the
 * total anew, each post adds a note, notes have no pages, and the status `completed` sends a mail
 * at once.
 */
export class WooCommerceOrders {
  readonly notes = new Map<string, Note[]>();
  readonly mails: Mail[] = [];
  /** Lines that a PUT added. */
  readonly addedLines: string[] = [];
  /** The permission of the key. */
  permission: 'read' | 'read_write' = 'read_write';
  /** Told after each mail to a customer. */
  onMail: (mail: Mail) => void = () => undefined;
  /** Told after each change of an order, as a webhook would tell. */
  onUpdated: (order: StubOrder) => void = () => undefined;
  readonly #orders: readonly StubOrder[];
  readonly #nowMs: () => number;
  readonly #shown: (order: StubOrder) => Fields;
  #lastId = 900_000;

  /** @param shown the order as the shop's API shows it */
  constructor(
    orders: readonly StubOrder[],
    nowMs: () => number,
    shown: (order: StubOrder) => Fields,
  ) {
    this.#orders = orders;
    this.#nowMs = nowMs;
    this.#shown = shown;
  }

  order(id: string): StubOrder {
    const order = this.#orders.find((other) => other.id === id);
    if (order === undefined) throw new Error(`the shop has no order ${id}`);
    return order;
  }

  /** The values of the fields of an order, and of one of its lines. */
  fieldsOf(orderId: string, lineId?: string): Readonly<Record<string, unknown>> {
    const { body } = this.order(orderId);
    const owner =
      lineId === undefined
        ? body
        : listIn(body['line_items']).find(({ id }) => String(id) === lineId);
    return Object.fromEntries(
      listIn(owner?.['meta_data']).map(({ key, value }) => [String(key), value]),
    );
  }

  notesOf(orderId: string): readonly Note[] {
    return this.notes.get(orderId) ?? [];
  }

  /** A call of one order, of its notes or of its refunds; null: any other call. */
  answer({ method, path, body }: ShopRequest): Reply | null {
    const [, orderId, part] =
      /^\/wp-json\/wc\/v3\/orders\/(\d+)(?:\/(notes|refunds))?(?:\?|$)/.exec(path) ?? [];
    if (orderId === undefined) return null;
    const order = this.#orders.find(({ id }) => id === orderId);
    if (order === undefined) return absent(method, part);
    if (method === 'GET' && part === 'notes')
      return { status: 200, body: this.notesOf(orderId).toReversed() };
    if (method === 'GET')
      return {
        status: 200,
        body: withNumericIds(part === 'refunds' ? order.refunds : this.#shown(order)),
      };
    if (this.permission === 'read') return error(401, 'woocommerce_rest_authentication_error');
    const asked = fieldsOf(parseExactJson(body));
    return part === 'notes' ? this.#addNote(orderId, asked) : this.#update(order, asked);
  }

  #addNote(orderId: string, { note, customer_note: isForCustomer }: Fields): Reply {
    // WordPress removes backslashes when it stores a note. The mail has it as it came.
    const stored = String(note).replaceAll(/\\(.?)/gs, '$1');
    const added = { id: this.#nextId(), note: stored, customer_note: isForCustomer === true };
    const isKept = Buffer.byteLength(stored) <= mostNoteBytes && !fourBytes.test(stored);
    if (isKept) this.notes.set(orderId, [...this.notesOf(orderId), added]);
    if (added.customer_note) this.#mail({ orderId, kind: 'note', text: String(note) });
    if (!isKept) return error(500, 'woocommerce_api_cannot_create_order_note');
    return { status: 201, body: added };
  }

  #mail(mail: Mail): void {
    this.mails.push(mail);
    this.onMail(mail);
  }

  #update(order: StubOrder, asked: Fields): Reply {
    const lines = listIn(order.body['line_items']);
    for (const item of listIn(asked['line_items'])) {
      const line = lines.find(({ id }) => String(id) === item['id']);
      if (item['id'] === undefined) {
        const added = {
          id: String(this.#nextId()),
          sku: 'STEAM-20',
          quantity: 1,
          meta_data: [],
          ...item,
        };
        lines.push(added);
        this.addedLines.push(added.id);
      } else if (line === undefined) return error(400, 'woocommerce_rest_invalid_item_id');
      else this.#setFields(line, item['meta_data']);
      order.body['total'] = order.body['calculated_total'] ?? order.body['total'];
    }
    this.#setFields(order.body, asked['meta_data']);
    const { status } = asked;
    const isCompleted = status === 'completed' && order.body['status'] !== 'completed';
    if (typeof status === 'string') order.body['status'] = status;
    // The shop's times are whole seconds, and it changes an order in the second in which it is
    // asked.
    order.modifiedMs = Math.max(order.modifiedMs, Math.floor(this.#nowMs() / 1000) * 1000);
    if (isCompleted) {
      const shown = JSON.stringify([order.body, this.notesOf(order.id)]);
      this.#mail({ orderId: order.id, kind: 'completed', text: shown });
    }
    this.onUpdated(order);
    return { status: 200, body: withNumericIds(this.#shown(order)) };
  }

  #setFields(owner: Fields, fields: unknown): void {
    const kept = listIn(owner['meta_data']);
    for (const { key, value } of listIn(fields)) {
      const field = kept.find((other) => other['key'] === key);
      if (field === undefined) kept.push({ id: this.#nextId(), key, value });
      else field['value'] = value;
    }
    owner['meta_data'] = kept;
  }

  #nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
