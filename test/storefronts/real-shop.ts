import { execFile } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const listIn = (value: unknown): Shown[] => (Array.isArray(value) ? value : []);

export type Shown = Record<string, unknown>;

/**
 * A real WooCommerce shop on this machine, below a folder: `site/` (WordPress, whose `wp-config.php` names its https address; plain
 * http one port above; mails go to `wp-content/mail.jsonl`, webhooks may go to the ports 22000 to 22999 of this machine, and with a
 * file `wp-content/hook-sync` they leave at once), `shop.json` (keys and products) and `ca.pem`.
 */
export class RealShop {
  readonly url: string;
  readonly versions: string;
  readonly caFile: string;
  readonly keys: { readonly readWrite: readonly [string, string]; readonly read: readonly [string, string] };
  readonly products: Readonly<Record<string, number>>;
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
    const { ck_read_write, cs_read_write, ck_read, cs_read, products, wc, wp, hpos } = JSON.parse(
      readFileSync(join(folder, 'shop.json'), 'utf8'),
    );
    this.keys = { readWrite: [ck_read_write, cs_read_write], read: [ck_read, cs_read] };
    this.products = products;
    this.versions = `WooCommerce ${wc}, WordPress ${wp}, orders ${hpos === true ? 'in tables of their own' : 'as posts'}`;
    this.caFile = join(folder, 'ca.pem');
    const settings = readFileSync(join(folder, 'site/wp-config.php'), 'utf8');
    this.url = /WP_HOME', '([^']+)'/.exec(settings)?.[1] ?? '';
    writeFileSync(this.#content('hook-sync'), '');
  }

  /** The body of an answer, whatever its status. */
  async call(method: string, path: string, body?: unknown): Promise<{ status: number; value: Shown; list: Shown[] }> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
    const auth = this.keys.readWrite.join(':');
    const options = { method, auth, ca: readFileSync(this.caFile), headers: { 'content-type': 'application/json' } };
    const sent = request(`${this.url}/wp-json/wc/v3${path}`, options, (answer) => {
      let read = '';
      answer.setEncoding('utf8').on('data', (part: string) => (read += part));
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text: read })).on('error', reject);
    });
    sent.on('error', reject).end(text);
    const { status, text: read } = await promise;
    const value = JSON.parse(read);
    return { status, value, list: Array.isArray(value) ? value : [] };
  }

  /** A paid order of a guest, by product ids and quantities. Returns its id. */
  async order(lines: readonly Shown[], changes: Shown = {}): Promise<string> {
    const billing = { first_name: 'Anna', email: 'anna@customer.test' };
    const paid = { status: 'processing', set_paid: true, billing, line_items: lines, ...changes };
    const { status, value } = await this.call('POST', '/orders', paid);
    if (status !== 201) throw new Error(`the shop made no order: ${JSON.stringify(value)}`);
    return String(value['id']);
  }

  async statusOf(orderId: string): Promise<unknown> {
    return (await this.call('GET', `/orders/${orderId}`)).value['status'];
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

  /** The texts of mails to a customer about an order. */
  mails(orderId: string): readonly string[] {
    const log = this.#content('mail.jsonl');
    const lines = existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [];
    const mails = lines.map((line): { to: string; subject: string; body: string } => JSON.parse(line));
    const isAbout = new RegExp(`#${orderId}\\b`);
    return mails
      .filter(({ to, subject, body }) => to.includes('customer.test') && isAbout.test(subject + body))
      .map(({ body }) => body);
  }

  async close(): Promise<void> {
    rmSync(this.#content('hook-sync'), { force: true });
  }

  #content(name: string): string {
    return join(this.#folder, 'site/wp-content', name);
  }
}
