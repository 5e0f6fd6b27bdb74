import type { ServerResponse } from 'node:http';
import { send, type ShopCallSeen, type StubShop } from '../../storefronts/read-back/stub-shop.ts';
import { card, inStub, type Row, shopifyCard, shopifyOrder, wooOrder } from './rows.ts';

// Shops that answer badly when they are read.

const criticalError =
  '<!DOCTYPE html><html><head><title>WordPress &rsaquo; Error</title></head><body><p>There has been a critical error on this website.</p></body></html>';
const botWall =
  '<!DOCTYPE html><html><head><title>Just a moment...</title></head><body>Checking your browser</body></html>';
const html = { 'content-type': 'text/html; charset=UTF-8' };

const isList = ({ url }: ShopCallSeen): boolean => /\/orders(?:\.json)?$/.test(url.pathname);
const sizeOf = ({ url }: ShopCallSeen): number =>
  Number(url.searchParams.get('per_page') ?? url.searchParams.get('limit') ?? 10);
type Fault = (response: ServerResponse) => void;
const status =
  (code: number, body: unknown = criticalError): Fault =>
  (response) =>
    void send(response, code, body, typeof body === 'string' ? html : {});
const cut: Fault = (response) => {
  response
    .writeHead(200, { 'content-type': 'application/json', 'content-length': '90000' })
    .write('[{"id":727,"line_items":[{');
  response.destroy();
};

/** Three paid orders, 727 to 729. */
function threeOrders(stub: StubShop): void {
  for (const id of [727, 728, 729])
    stub.put(inStub(wooOrder({ id, line_items: [card({ id: id - 412 })] })));
}
function threeAtShopify(stub: StubShop): void {
  for (const id of [727, 728, 729])
    stub.put(inStub(shopifyOrder({ id, line_items: [shopifyCard({ id: id - 412 })] })));
}
const all = { bought: ['727/315 1', '728/316 1', '729/317 1'] };
const steps = [{ inShop: threeOrders }, { inShop: () => undefined }];
/** The shop fails for pages of more than `most` orders. */
const largePages = (most: number, fault: Fault): Pick<Row, 'read' | 'steps'> => ({
  read: (stub) => {
    stub.misbehave = (call, response) => {
      const isSick = isList(call) && sizeOf(call) > most;
      if (isSick) fault(response);
      return isSick;
    };
  },
  steps,
});
/** The shop fails for each answer that would have one of these orders in it. */
const poisoned = (ids: readonly number[], code: number): Pick<Row, 'read' | 'steps'> => ({
  read: (stub) => {
    stub.misbehave = (_, response) => {
      const writeHead = response.writeHead.bind(response);
      const end = response.end.bind(response);
      let head: Parameters<typeof send>[3] = {};
      let answered = 200;
      Object.assign(response, {
        writeHead: (given: number, headers: Record<string, string>) => {
          [answered, head] = [given, headers];
          return response;
        },
        end: (text: string) => {
          const isSick = ids.some((id) => new RegExp(`"id":${id}\\b`).test(text));
          writeHead(isSick ? code : answered, isSick ? html : head);
          return end(isSick ? criticalError : text);
        },
      });
      return false;
    };
  },
  steps,
});

export const largeAnswers: readonly Row[] = [
  {
    name: '502 for more than 50 orders',
    source: 'nginx: upstream sent too big header',
    ...largePages(50, status(502, '<html><head><title>502 Bad Gateway</title></head></html>')),
    ...all,
  },
  {
    name: '504 for more than 10 orders',
    source: 'a shared host whose PHP may run for 30 s',
    ...largePages(10, status(504, '<html><head><title>504 Gateway Time-out</title></head></html>')),
    ...all,
  },
  {
    name: '500 with a critical error for more than 5 orders',
    source: 'PHP: Allowed memory size exhausted',
    ...largePages(5, status(500)),
    ...all,
  },
  {
    name: '500 with JSON for more than 20 orders',
    source: 'WordPress: {"code":"internal_server_error"} of a fatal error',
    ...largePages(
      20,
      status(500, {
        code: 'internal_server_error',
        message: '<p>There has been a critical error on this website.</p>',
        data: { status: 500 },
      }),
    ),
    ...all,
  },
  {
    name: 'a connection that ends within large answers',
    source: 'a proxy with a limit of its buffers',
    ...largePages(25, cut),
    ...all,
  },
  {
    name: 'one order only a page',
    source: 'a shop with very large orders',
    ...largePages(1, status(500)),
    ...all,
  },
  {
    name: 'Shopify: 502 for more than 50 orders',
    source: 'shopify.dev: 502 and 504 for expensive queries',
    platform: 'shopify',
    ...largePages(50, status(502, 'Bad Gateway')),
    steps: [{ inShop: threeAtShopify }, { inShop: () => undefined }],
    ...all,
  },
];

export const poisonedOrders: readonly Row[] = [
  {
    name: 'the first order',
    source: 'woocommerce#14184: an order whose product class is missing',
    ...poisoned([727], 500),
    bought: ['728/316 1', '729/317 1'],
    told: ['shop unreadable_order'],
  },
  {
    name: 'the order in the middle',
    source: 'the same',
    ...poisoned([728], 500),
    bought: ['727/315 1', '729/317 1'],
    told: ['shop unreadable_order'],
  },
  {
    name: 'the last order',
    source: 'the same',
    ...poisoned([729], 502),
    bought: ['727/315 1', '728/316 1'],
    told: ['shop unreadable_order'],
  },
];

export const soundShops: readonly Row[] = [
  { name: 'a shop that is read', source: 'every shop', read: () => undefined, steps, ...all },
  {
    name: 'Shopify: a shop that is read',
    source: 'every shop',
    platform: 'shopify',
    read: () => undefined,
    steps: [{ inShop: threeAtShopify }],
    ...all,
  },
  {
    name: 'a shop whose plugin is updated',
    source: 'WordPress: .maintenance, 503 with Retry-After: 600',
    read: (stub) => {
      let failed = 0;
      stub.misbehave = (call, response) => {
        if (!isList(call) || failed > 0) return false;
        failed += 1;
        return send(response, 503, '<title>Maintenance</title>', { ...html, 'retry-after': '600' });
      };
    },
    steps,
    ...all,
  },
  {
    name: 'a bot wall that lets some calls through',
    source: 'Cloudflare: Just a moment...',
    read: (stub) => {
      let asked = 0;
      stub.misbehave = (call, response) => {
        asked += Number(isList(call));
        return isList(call) && asked === 1 && send(response, 403, botWall, html);
      };
    },
    steps,
    ...all,
  },
];

/** A firewall or a page stands before the shop. */
const behind = (fault: Fault): Pick<Row, 'read' | 'steps' | 'bought'> => ({
  read: (stub) => {
    stub.misbehave = (call, response) => {
      if (isList(call)) fault(response);
      return isList(call);
    };
  },
  steps,
  bought: [],
});

export const otherAnswers: readonly Row[] = [
  {
    name: 'a bot wall',
    source: 'Cloudflare: Just a moment...',
    ...behind(status(403, botWall)),
    logs: ['not WooCommerce', 'Just a moment'],
  },
  {
    name: 'a firewall of a plugin',
    source: 'Wordfence: 403 with a page',
    ...behind(
      status(
        403,
        '<html><head><title>403 Forbidden</title></head><body>A potentially unsafe operation has been detected</body></html>',
      ),
    ),
    logs: ['not WooCommerce', '403 Forbidden'],
  },
  {
    name: 'a login page',
    source: 'a plugin that closes the site: 200 with a page',
    ...behind(status(200, '<!DOCTYPE html><html><head><title>Coming soon</title></head></html>')),
    logs: ['Coming soon'],
  },
  {
    name: 'notices before the JSON',
    source: 'WP_DEBUG_DISPLAY',
    ...behind(
      (response) =>
        void send(
          response,
          200,
          '<br />\n<b>Deprecated</b>: Optional parameter in x.php<br />\n[]',
          html,
        ),
    ),
    logs: ['Deprecated'],
  },
  {
    name: 'wrong keys are still reported as wrong keys',
    source: 'woocommerce_rest_cannot_view with 401',
    ...behind(
      status(401, {
        code: 'woocommerce_rest_cannot_view',
        message: 'Sorry, you cannot list resources.',
        data: { status: 401 },
      }),
    ),
    logs: ['cannot list resources'],
  },
];
