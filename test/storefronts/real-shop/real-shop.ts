import { execFile } from 'node:child_process';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const listIn = (value: unknown): Shown[] => (Array.isArray(value) ? value : []);

export type Shown = Record<string, unknown>;

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly value: Shown;
}

/**
 * A real WooCommerce shop on this machine, below a folder: `site/` (WordPress, whose
 * `wp-config.php` names its https address; plain http one port above; mails go to
 * `wp-content/mail.jsonl`, webhooks may go to the ports 22000 to 22999 of this machine unless a
 * file `wp-content/no-loopback` forbids it, and with a file `wp-content/hook-sync` they leave at
 * once), `shop.json` (keys and products), `ca.pem`, `access.log` with the calls by https, and
 * `faults.json`: what happens to those that match.
 */
export class RealShop {
  readonly url: string;
  readonly versions: string;
  /** It keeps orders as posts, not in tables of their own. */
  readonly keepsPosts: boolean;
  readonly caFile: string;
  readonly keys: {
    readonly readWrite: readonly [string, string];
    readonly read: readonly [string, string];
  };
  readonly products: Readonly<Record<string, number>>;
  readonly #folder: string;
  /** The mails to customers by the orders that they name, and how much of the log was read. */
  readonly #mails = new Map<string, readonly string[]>();
  #mailBytes = 0;
  readonly #plugins = new Set<string>();

  constructor(folder: string) {
    this.#folder = folder;
    const { ck_read_write, cs_read_write, ck_read, cs_read, products, wc, wp, hpos } = JSON.parse(
      readFileSync(join(folder, 'shop.json'), 'utf8'),
    );
    this.keys = { readWrite: [ck_read_write, cs_read_write], read: [ck_read, cs_read] };
    this.products = products;
    this.keepsPosts = hpos !== true;
    this.versions = `WooCommerce ${wc}, WordPress ${wp}, orders ${this.keepsPosts ? 'as posts' : 'in tables of their own'}`;
    this.caFile = join(folder, 'ca.pem');
    const settings = readFileSync(join(folder, 'site/wp-config.php'), 'utf8');
    this.url = /WP_HOME', '([^']+)'/.exec(settings)?.[1] ?? '';
    writeFileSync(this.#content('hook-sync'), '');
  }

  /** The body of an answer, whatever its status. Throws when the shop gives none. */
  async call(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ status: number; value: Shown; list: Shown[] }> {
    const authorization = `Basic ${Buffer.from(this.keys.readWrite.join(':')).toString('base64')}`;
    const { status, value } = await this.#send(method, `/wc/v3${path}`, body, { authorization });
    return { status, value, list: listIn(value) };
  }

  async #send(
    method: string,
    path: string,
    body: unknown,
    headers: Record<string, string>,
  ): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const options = {
      method,
      ca: readFileSync(this.caFile),
      headers: { 'content-type': 'application/json', ...headers },
    };
    const sent = request(`${this.url}/wp-json${path}`, options, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (part: string) => (text += part));
      answer.on('error', reject).on('end', () => {
        resolve({
          status: answer.statusCode ?? 0,
          headers: answer.headers,
          value: JSON.parse(text),
        });
      });
    });
    sent.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body));
    return await promise;
  }

  /** A paid order of a guest, by product ids and quantities. Returns its id. */
  async order(lines: readonly Shown[], changes: Shown = {}): Promise<string> {
    const billing = { first_name: 'Anna', email: 'anna@customer.test' };
    const paid = { status: 'processing', set_paid: true, billing, line_items: lines, ...changes };
    const { status, value } = await this.call('POST', '/orders', paid);
    if (status !== 201) throw new Error(`the shop made no order: ${JSON.stringify(value)}`);
    return String(value['id']);
  }

  /**
   * Paid orders of one piece, quickly: the shop mails nothing about them. Webhooks that are on
   * leave for each.
   */
  async manyOrders(count: number, sku: string): Promise<void> {
    const silent = `foreach(['new_order','customer_processing_order'] as $e)add_filter("woocommerce_email_enabled_$e",'__return_false');`;
    const made = `$o=new WC_Order();$o->set_billing_email('anna@customer.test');$i=new WC_Order_Item_Product();$i->set_product($p);$i->set_quantity(1);$i->set_subtotal(8);$i->set_total(8);$o->add_item($i);$o->set_total(8);`;
    const paid = `$o->set_date_paid(time());$o->set_status('processing');$o->save();`;
    await this.php(
      `${silent}$p=wc_get_product(${this.products[sku] ?? 0});for($n=0;$n<${count};$n++){${made}${paid}}`,
    );
  }

  /** An order that a guest makes at the checkout, to be paid by bank transfer. Returns its id. */
  async checkout({ product_id: id, quantity }: Shown): Promise<string> {
    const session: Record<string, string> = {};
    const ask = async (method: string, path: string, body?: unknown): Promise<Shown> => {
      const { headers, value } = await this.#send(method, `/wc/store/v1${path}`, body, session);
      const nonce = headers['nonce'] ?? headers['x-wc-store-api-nonce'];
      if (nonce !== undefined) session['nonce'] = session['x-wc-store-api-nonce'] = String(nonce);
      const cookies = (headers['set-cookie'] ?? []).map((cookie) => cookie.split(';')[0]);
      if (cookies.length > 0) session['cookie'] = cookies.join('; ');
      return value;
    };
    await ask('GET', '/cart');
    await ask('POST', '/cart/add-item', { id, quantity });
    const address = {
      first_name: 'Anna',
      last_name: 'B',
      address_1: 'Street 1',
      city: 'New York',
      state: 'NY',
    };
    const billing_address = {
      ...address,
      postcode: '10001',
      country: 'US',
      email: 'anna@customer.test',
      phone: '1',
    };
    const order = await ask('POST', '/checkout', { billing_address, payment_method: 'bacs' });
    if (typeof order['order_id'] === 'number') return String(order['order_id']);
    throw new Error(`the checkout made no order: ${JSON.stringify(order)}`);
  }

  /** A new worker would read back, and buy, what an earlier run has left. */
  async deleteOrders(): Promise<void> {
    for (;;) {
      const { list } = await this.call('GET', '/orders?per_page=100&_fields=id');
      if (list.length === 0) return;
      await this.call('POST', '/orders/batch', { delete: list.map(({ id }) => id) });
    }
  }

  /** By a call that ends otherwise than those of the worker. */
  async statusOf(orderId: string): Promise<unknown> {
    return (await this.call('GET', `/orders/${orderId}?_fields=status`)).value['status'];
  }

  async linesOf(orderId: string): Promise<readonly Shown[]> {
    return listIn((await this.call('GET', `/orders/${orderId}`)).value['line_items']);
  }

  /** Runs PHP within WordPress, as its own people and cron do. */
  async php(code: string): Promise<string> {
    const { host } = new URL(this.url);
    const boot = `$_SERVER['HTTP_HOST']='${host}';$_SERVER['HTTPS']='on';$_SERVER['REQUEST_URI']='/';require '${join(this.#folder, 'site')}/wp-load.php';wp_set_current_user(1);`;
    const silent = ['-d', 'display_errors=0', '-d', 'log_errors=0', '-d', 'memory_limit=512M'];
    return (await run('php', [...silent, '-r', `${boot}${code}`])).stdout;
  }

  /** A change that the shop's people make in an order, which is `$o`. */
  async change(orderId: string, code: string): Promise<void> {
    await this.php(`$o=wc_get_order(${orderId});${code}`);
  }

  /** The texts of the notes of an order, the oldest first. */
  async notes(orderId: string, isForCustomer: boolean): Promise<readonly string[]> {
    const { list } = await this.call('GET', `/orders/${orderId}/notes`);
    const ours = list.filter(({ note }) => /order-sync/.test(String(note)));
    const found = ours.filter(({ customer_note: ofCustomer }) => ofCustomer === isForCustomer);
    return found.map(({ note }) => String(note)).toReversed();
  }

  /** What happens to calls that come by https. Null: nothing. */
  setFault(fault: Shown | null): void {
    writeFileSync(join(this.#folder, 'faults.json'), JSON.stringify(fault ?? { match: '^$' }));
  }

  /** The calls by https so far: method and path. */
  calls(): readonly string[] {
    return this.#log().flatMap((line) => /^\S+ (\S+ \S+)/.exec(line)?.[1] ?? []);
  }

  /** How many calls by https were answered with a status so far. */
  answers(status: number): number {
    return this.#log().filter((line) => line.split(' ')[3] === String(status)).length;
  }

  #log(): readonly string[] {
    return readFileSync(join(this.#folder, 'access.log'), 'utf8').split('\n');
  }

  /**
   * What a plugin does at each request, as PHP; null: it is removed. The shop may run an older text
   * of the same name for seconds.
   */
  setPlugin(name: string, code: string | null): void {
    const file = this.#content(`mu-plugins/trial-${name}.php`);
    if (code === null) rmSync(file, { force: true });
    else writeFileSync(file, `<?php ${code}`);
    this.#plugins.add(name);
  }

  /**
   * What WordPress does while it updates a plugin: it answers every call with a 503 and
   * `Retry-After: 600`.
   */
  setMaintenance(isOn: boolean): void {
    const file = join(this.#folder, 'site/.maintenance');
    if (isOn) writeFileSync(file, '<?php $upgrading = time();');
    else rmSync(file, { force: true });
  }

  /** A file of `wp-content` that changes what the shop does. */
  setFlag(name: string, isSet: boolean): void {
    if (isSet) writeFileSync(this.#content(name), '');
    else rmSync(this.#content(name), { force: true });
  }

  /** The texts of mails to a customer about an order. */
  mails(orderId: string): readonly string[] {
    this.#readMails();
    return this.#mails.get(orderId) ?? [];
  }

  /** Reads only what was added: a test that waits for many mails asks often. */
  #readMails(): void {
    const log = this.#content('mail.jsonl');
    if (!existsSync(log) || statSync(log).size === this.#mailBytes) return;
    const added = readFileSync(log).subarray(this.#mailBytes);
    const whole = added.subarray(0, added.lastIndexOf('\n') + 1);
    this.#mailBytes += whole.length;
    for (const line of whole.toString().split('\n').filter(Boolean)) {
      const { to, subject, body }: { to: string; subject: string; body: string } = JSON.parse(line);
      if (!to.includes('customer.test')) continue;
      const about = new Set(
        [...`${subject}${body}`.matchAll(/#(\d+)\b/g)].map(([, id = '']) => id),
      );
      for (const id of about) this.#mails.set(id, [...(this.#mails.get(id) ?? []), body]);
    }
  }

  async close(): Promise<void> {
    for (const name of ['hook-sync', 'no-loopback']) this.setFlag(name, false);
    for (const name of this.#plugins) this.setPlugin(name, null);
    this.setMaintenance(false);
    this.setFault(null);
  }

  #content(name: string): string {
    return join(this.#folder, 'site/wp-content', name);
  }
}
