import type { Database } from 'better-sqlite3';
import type { ResultDocument } from '../../src/core/result/result-document.ts';
import { callbackSinkName } from '../../src/results/callback-sink.ts';
import { writeBackName } from '../../src/storefronts/write-back.ts';
import { checkWrittenOrder } from './oracle-shops.ts';
import type { ReceiverProgress } from './receiver-progress.ts';
import { receiverDeadlineMs, type ReceiverTroubles } from './sinks-plan.ts';
import { wallStartMs } from './virtual-time.ts';
import type { World } from './world.ts';

const seconds = (count: number): number => count * 1000;
const hours = (count: number): number => count * 3_600_000;

/** The delays between tries, as the documentation says: written down a second time. */
const retriesMs = {
  shop: [...[10, 30, 60, 120, 300, 900, 1800].map(seconds), ...[1, 3, 6, 12, 24, 24].map(hours)],
  callback: [...[5, 300, 1800].map(seconds), ...[2, 5, 10, 14, 20, 24].map(hours)],
} as const;

/** A paused sink is tried every five minutes; then one result after the other is delivered. */
const recoveryMs = 300_000 + 6 * receiverDeadlineMs + 120_000;

interface CheckedReceiver {
  readonly name: string;
  readonly kind: keyof typeof retriesMs;
  readonly troubles: ReceiverTroubles;
  readonly progress: ReceiverProgress;
  /** How the receiver names the order. */
  readonly orderOf: (document: ResultDocument) => string;
}

interface DeliveryRow {
  readonly requestId: number;
  readonly isDone: number;
  readonly isGivenUp: number;
  readonly isShown: number;
}

/**
 * Checks what every shop and endpoint has against the results, which were compared with the ledger
 * of the API.
 */
export function checkSinks(world: World): void {
  const { sinks } = world;
  if (sinks === null) return;
  const documents = [...world.results.contents().values()].map(
    (text): ResultDocument => JSON.parse(text),
  );
  for (const endpoint of sinks.endpoints) {
    const { plan, progress } = endpoint;
    const name = callbackSinkName(plan.name);
    const orderOf = ({ source, order_id: orderId }: ResultDocument): string =>
      `${source}/${orderId}`;
    const receiver: CheckedReceiver = {
      name,
      kind: 'callback',
      troubles: plan.troubles,
      progress,
      orderOf,
    };
    for (const document of documents) {
      if (!isDelivered(world, receiver, document)) continue;
      world.coverage.hit(`told ${plan.events?.join(' ') ?? 'results'}`);
      for (const type of endpoint.missing(document))
        world.violate('I44', `${name} did not get ${type} of what ${orderOf(document)} has become`);
    }
  }
  for (const shop of sinks.shops) {
    const { settings, plan, progress } = shop;
    const name = writeBackName(settings);
    const orderOf = ({ order_id: orderId }: ResultDocument): string => orderId;
    const receiver: CheckedReceiver = {
      name,
      kind: 'shop',
      troubles: plan.troubles,
      progress,
      orderOf,
    };
    for (const document of documents.filter(({ source }) => source === settings.source)) {
      const isWritten = isDelivered(
        world,
        receiver,
        document,
        shop.edits.get(document.order_id) === 'deleted',
      );
      checkWrittenOrder(world, shop, document, isWritten);
    }
  }
  checkPauses(world);
}

function deliveryOf(
  connection: Database,
  sink: string,
  document: ResultDocument,
): DeliveryRow | undefined {
  return connection
    .prepare<[string, string, string], DeliveryRow>(
      `SELECT d.request_id AS requestId, d.done_version >= d.due_version AS isDone, d.given_up_at_ms IS NOT NULL AS isGivenUp,
              EXISTS (SELECT 1 FROM outbox_attention WHERE id = 'delivery:' || d.request_id || ':' || d.sink) AS isShown
       FROM deliveries d JOIN requests r ON r.id = d.request_id WHERE d.sink = ? AND r.source = ? AND r.order_id = ?`,
    )
    .get(sink, document.source, document.order_id);
}

/**
 * Whether a result was delivered. One that was given up stands in attention, and its receiver must
 * have refused it for ever.
 * @param mayBeLost the shop has the order no more
 */
function isDelivered(
  world: World,
  receiver: CheckedReceiver,
  document: ResultDocument,
  mayBeLost = false,
): boolean {
  const { name, troubles, orderOf } = receiver;
  const order = `the result of ${document.source}/${document.order_id} for ${name}`;
  const row = deliveryOf(world.disk.connection, name, document);
  if (row === undefined) {
    world.violate('I44', `${order} was never due`);
    return false;
  }
  if (row.isGivenUp === 1) {
    world.coverage.hit(`given up ${receiver.kind}`);
    if (row.isShown === 0)
      world.violate('I47', `${order} was given up, and does not stand in attention`);
    if (!mayBeLost && !troubles.refusedOrders.has(orderOf(document)))
      world.violate('I46', `${order} was given up`);
    return false;
  }
  if (row.isDone === 0) world.violate('I46', `${order} is not delivered`);
  checkInTime(world, receiver, document, { order, tries: world.triesOf(row.requestId, name) });
  return row.isDone === 1;
}

/**
 * When everything was well, the next try comes within its own delay, and the time in which a paused
 * sink is tried.
 */
function checkInTime(
  world: World,
  receiver: CheckedReceiver,
  document: ResultDocument,
  { order, tries }: { readonly order: string; readonly tries: number },
): void {
  const { plan } = world;
  const { kind, troubles, progress, orderOf } = receiver;
  const lastMs = progress.lastSuccessMs(orderOf(document));
  if (lastMs === null || plan.wallJumps.length > 0 || world.isRewritten) return;
  const delays = retriesMs[kind];
  const failures = Math.min(Math.max(tries, progress.failuresOf(orderOf(document))), delays.length);
  const delayMs = (failures === 0 ? 0 : (delays[failures - 1] ?? 0)) * troubles.retryTimeScale;
  const wellAtMs = Math.max(
    Date.parse(document.updated_at) - wallStartMs,
    troubles.faultShare > 0 ? plan.faultsOffMs : 0,
    // While the disk is full, deliveries are made and cannot be recorded.
    plan.diskFull.untilMs,
    plan.diskErrors.length > 0 ? plan.faultsOffMs : 0,
    ...troubles.outages.map(({ untilMs }) => untilMs),
    world.lastStartMs,
    // An order that comes again makes its result due again.
    world.lastIntakeMs,
  );
  const lateMs = lastMs - wellAtMs - delayMs - recoveryMs;
  if (lateMs > 0)
    world.violate(
      'I46',
      `${order} came ${Math.round(lateMs / 1000)} s too late, after ${failures} failures`,
    );
}

/** Everything is delivered, so no sink may count as broken any more. */
function checkPauses(world: World): void {
  const paused = world.disk.connection
    .prepare<[], string>(
      `SELECT sink || ': ' || message FROM sink_pauses p WHERE NOT EXISTS (
         SELECT 1 FROM deliveries d WHERE d.sink = p.sink AND d.done_version < d.due_version AND d.given_up_at_ms IS NULL)`,
    )
    .pluck()
    .all();
  for (const text of paused)
    world.violate('I47', `a sink is still paused when everything is delivered: ${text}`);
}
