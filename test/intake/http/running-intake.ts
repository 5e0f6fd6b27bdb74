import { type Logger, pino } from 'pino';
import { expect, onTestFinished } from 'vitest';
import type { Clock } from '../../../src/core/clock.ts';
import type { ShopHandlers } from '../../../src/intake/http/storefront-routes.ts';
import type { WebhookSettings } from '../../../src/intake/http/settings.ts';
import { WebhookIntake } from '../../../src/intake/http/webhook-intake.ts';
import type { Shop } from '../../../src/storefronts/settings.ts';
import { SkuFile } from '../../../src/storefronts/sku-file.ts';
import { StorefrontIntake } from '../../../src/storefronts/storefront-intake.ts';
import { SystemClock } from '../../../src/ops/system-clock.ts';
import { documented } from '../../support/intake-openapi.ts';
import { OpenApiDocument } from '../../support/openapi-document.ts';
import { Outbox } from '../../support/outbox.ts';
import { boundToken, limits, olderWhsec, token, whsec } from './running-intake-config.ts';

const document = new OpenApiDocument(documented);

export interface IntakeChanges {
  readonly limits?: Partial<WebhookSettings['limits']>;
  readonly config?: Partial<WebhookSettings>;
  readonly shops?: readonly Shop[];
  /** In the place of those of `shops`. */
  readonly handlers?: ShopHandlers;
  readonly clock?: Clock;
  /** Default: none of it is kept. */
  readonly logger?: Logger;
  /** What the wall clock shows, instead of the time. */
  readonly wallMs?: number;
}

/** The intake on a real socket, before a real outbox. */
export interface RunningIntake {
  readonly outbox: Outbox;
  readonly intake: WebhookIntake;
  readonly storefronts: StorefrontIntake;
  readonly url: string;
  /** How often `onAccepted` was called. */
  readonly notifications: () => number;
  readonly post: (body: unknown, headers?: Record<string, string>) => Promise<Answer>;
  readonly call: (
    method: string,
    path: string,
    headers?: Record<string, string>,
    body?: string | Buffer,
  ) => Promise<Answer>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // oxlint-disable-next-line typescript/no-explicit-any -- JSON whose form each test asserts by itself
  readonly json: any;
}

export async function startIntake(changes: IntakeChanges = {}): Promise<RunningIntake> {
  const outbox = await Outbox.open();
  let notifications = 0;
  const clock: Clock = changes.clock ?? new SystemClock();
  if (changes.wallMs !== undefined) clock.wallMs = () => changes.wallMs ?? 0;
  const onAccepted = (): void => {
    notifications += 1;
  };
  const logger = changes.logger ?? pino({ level: 'silent' });
  const { store } = outbox;
  const ofShops = {
    shops: changes.shops ?? [],
    store: store.storefronts,
    clock,
    logger,
    onChanged: onAccepted,
  };
  const storefronts = new StorefrontIntake(ofShops);
  const intake = await WebhookIntake.start({
    store,
    clock,
    logger,
    version: '0.0.0',
    onAccepted,
    openSkuMap: (path) => (path === null ? null : new SkuFile(path, clock, logger)),
    shops: changes.handlers ?? storefronts,
    config: {
      listen: { host: '127.0.0.1', port: 0 },
      skuMap: null,
      tokens: [
        {
          name: 'anybody',
          secrets: [token],
          scopes: ['post', 'read', 'cancel'],
          sources: ['webhook', 'shop1', 'shop2', 'shop', 'till'],
          currency: null,
        },
        {
          name: 'shop-two',
          secrets: [boundToken],
          scopes: ['post', 'read', 'cancel'],
          sources: ['shop2'],
          currency: null,
        },
      ],
      standardWebhooks: [
        { name: 'new', secret: whsec, source: null },
        { name: 'old', secret: olderWhsec, source: 'shop2' },
      ],
      ...changes.config,
      limits: { ...limits, ...changes.limits },
    },
  });
  onTestFinished(async () => {
    await intake.stop();
    await outbox.close();
  });
  const url = `http://${intake.address}`;
  const call: RunningIntake['call'] = async (method, path, headers = {}, body) => {
    const init = { method, headers, ...(body === undefined ? {} : { body }) };
    const response = await fetch(`${url}${path}`, init);
    const text = await response.text();
    const { status } = response;
    const answer = isJson(response) ? JSON.parse(text) : text;
    const contentType = response.headers.get('content-type');
    // Whatever a test asks: each answer of a documented route is as the document says.
    if (document.knows(method, path))
      expect(document.violations({ method, path, status, contentType, answer }, false)).toEqual([]);
    return { status, headers: response.headers, json: answer };
  };
  return {
    outbox,
    intake,
    storefronts,
    url,
    notifications: () => notifications,
    call,
    post: (body, headers = {}) =>
      call(
        'POST',
        '/v1/orders',
        { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
        typeof body === 'string' ? body : JSON.stringify(body),
      ),
  };
}

function isJson(response: Response): boolean {
  return /json/.test(response.headers.get('content-type') ?? '');
}

export function order(
  changes: Record<string, unknown> = {},
): Record<string, unknown> & { lines: unknown[] } {
  return {
    source: 'shop1',
    order_id: '1001',
    currency: 'USD',
    lines: [
      { line_id: '1', type: 'gift_card_order', variant: 'steam-usd-20', quantity: 2 },
      { line_id: '2', type: 'esim_order', plan: 'fr-daily-1gb', quantity: 1, days: 7 },
    ],
    ...changes,
  };
}
