import type { AcceptableLine } from '../../src/core/order/order-request.ts';
import {
  plainIntake,
  type FileFormat,
  type FilePlan,
  type RequestPlan,
  type SentLine,
  type ShopOrderPlan,
  cancelsForeign,
} from './intake-plan.ts';
import { carriedBy } from './order-documents.ts';
import { intakeCrashPlaces } from './port-names.ts';
import { plainLine, type CrashPlan, type OrderBatch, type RunPlan } from './run-plan.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { FileErrorPlan } from './sim-mount.ts';

/** 18 digits: of 19 or 20, the last one would have to be a check digit. */
function withShortIccids(plan: RunPlan): RunPlan {
  const short = (iccid: string): string => `${iccid.slice(0, 17)}${iccid.slice(-1)}`;
  const ofLine = (line: AcceptableLine): AcceptableLine =>
    line.iccid === null ? line : { ...line, iccid: short(line.iccid) };
  return {
    ...plan,
    oldEsims: plan.oldEsims.map(short),
    batches: plan.batches.map((batch) => ({ ...batch, lines: batch.lines.map(ofLine) })),
    account: {
      ...plan.account,
      unchecked: new Map([...plan.account.unchecked].map(([iccid, span]) => [short(iccid), span])),
    },
  };
}

/** Calls after which it matters whether they were done. */
const changesOfFiles = [
  'files.rename work',
  'files.sync work',
  'files.sync inbox',
  'files.rename archive',
  'files.sync archive',
  'files.create rejected',
  'files.rename rejected',
  'files.sync rejected',
  'files.unlink work',
] as const;

function drawFileErrors(random: SeededRandom): FileErrorPlan[] {
  const errors: FileErrorPlan[] = [];
  while (random.chance(errors.length === 0 ? 0.3 : 0.5)) {
    const drawn: FileErrorPlan = {
      afterCalls: random.chance(0.5) ? random.int(1, 40) : random.int(1, 300),
      code: random.pick('EIO', 'ENOSPC', 'EACCES'),
      times: random.pick(1, 1, 2, 8),
    };
    errors.push(
      random.chance(0.4)
        ? { ...drawn, afterCalls: 1, atCall: random.pick(...changesOfFiles) }
        : drawn,
    );
  }
  return errors;
}

/** Lines that must be refused, beside the good ones. */
function withMistakes(
  random: SeededRandom,
  lines: readonly AcceptableLine[],
  order: number,
): readonly SentLine[] {
  const good = lines.map((line): SentLine => ({ line, mistake: 'none' }));
  if (!random.chance(0.3)) return good;
  const mistake = random.pick('quantity', 'type');
  const line: AcceptableLine = {
    ...plainLine,
    orderId: random.chance(0.5) ? `m${order}` : (lines[0]?.orderId ?? ''),
    lineId: 'bad',
  };
  return random.chance(0.5) ? [...good, { line, mistake }] : [{ line, mistake }, ...good];
}

function drawFile(random: SeededRandom, batch: OrderBatch, number: number): FilePlan {
  const format: FileFormat = random.pick('csv', 'csv', 'ndjson', 'json');
  const lines = batch.lines.map((line) => carriedBy(format, line));
  return {
    name: `orders-${number}.${format}`,
    format,
    lines: withMistakes(random, lines, number),
    atMs: batch.atMs,
    style: random.pick('renamed', 'renamed', 'in_place', 'late'),
    againAtMs: batch.againAtMs,
  };
}

/**
 * The same order with another content, in another file: the shop must be told which of the two is
 * not bought.
 */
function changedFile(random: SeededRandom, file: FilePlan, latestMs: number): FilePlan | null {
  const [first] = file.lines;
  if (first === undefined || first.line.quantity === null || first.mistake !== 'none') return null;
  const line = { ...first.line, quantity: first.line.quantity + 1 };
  const { format } = file;
  return {
    ...file,
    name: `changed-${file.name}`,
    lines: [{ line, mistake: 'none' }],
    atMs: random.int(0, latestMs),
    format,
  };
}

/** The lines of an order that is posted share deadline and rules. */
function drawRequest(random: SeededRandom, batch: OrderBatch, number: number): RequestPlan {
  const [first] = batch.lines;
  const { notAfterMs = null, rules = {} } = first ?? {};
  const lines = batch.lines.map(
    (line): SentLine => ({ line: { ...line, notAfterMs, rules }, mistake: 'none' }),
  );
  const isForged = random.chance(0.1);
  const isWrong = random.chance(0.15);
  // What must be refused has lines of its own, so that none of them may be in the outbox.
  const refused: SentLine[] = lines.map(({ line }) => ({
    line: { ...line, orderId: `x${number}` },
    mistake: 'none',
  }));
  const wrong: SentLine = {
    line: { ...plainLine, orderId: `x${number}`, lineId: 'bad' },
    mistake: 'quantity',
  };
  return {
    lines: isWrong ? [...refused, wrong] : isForged ? refused : lines,
    atMs: batch.atMs,
    againAtMs: batch.againAtMs,
    proof: isForged ? 'forged' : random.pick('token', 'token', 'signature'),
    inBatch: random.chance(0.3),
    cancelAtMs: random.chance(0.2) ? batch.atMs + random.int(0, 90_000) : null,
  };
}

const isRefused = (request: RequestPlan): boolean =>
  request.proof === 'forged' ||
  cancelsForeign(request) ||
  request.lines.some(({ mistake }) => mistake !== 'none');

/** The same order with another content: the answer must be a conflict for one of the two. */
function changedRequest(
  random: SeededRandom,
  request: RequestPlan,
  latestMs: number,
): RequestPlan | null {
  const [first, ...others] = request.lines;
  if (first === undefined || first.line.quantity === null || isRefused(request)) return null;
  const line = { ...first.line, quantity: first.line.quantity + 1 };
  const atMs = random.int(0, latestMs);
  return {
    ...request,
    lines: [{ line, mistake: 'none' }, ...others],
    atMs,
    againAtMs: [],
    cancelAtMs: null,
  };
}

/** An order of a shop's own platform; null: such shops do not sell all of it. */
function drawShopOrder(
  random: SeededRandom,
  batch: OrderBatch,
  number: number,
): ShopOrderPlan | null {
  const platform = random.pick('woocommerce', 'shopify');
  const [first] = batch.lines;
  const isSold = batch.lines.every(
    ({ operation }) => operation === 'gift_card_order' || operation === 'esim_order',
  );
  if (first === undefined || !isSold) return null;
  const lines = batch.lines.map((line, index): AcceptableLine => {
    const identity = {
      source: platform,
      orderId: String(1000 + number),
      lineId: String(10 * number + index),
    };
    return { ...line, ...identity, currency: first.currency, notAfterMs: null, rules: {} };
  });
  const kind = random.pick('cancelled', 'refunded', 'one_refunded', 'line_refunded', 'address');
  return {
    platform,
    lines,
    atMs: batch.atMs,
    paidAfterMs: random.chance(0.4) ? random.int(1, 60_000) : 0,
    change: random.chance(0.6)
      ? { kind, afterMs: random.pick(100, 1500, random.int(1, 120_000)) }
      : null,
    delaysMs: [0, 1, 2].map(() =>
      random.chance(0.3) ? random.int(0, 90_000) : random.int(0, 2000),
    ),
    copies: random.pick(1, 1, 2, 3),
  };
}

/**
 * A quarter of the runs play the intake: most of their orders come in by file, over HTTP or from a
 * shop.
 */
export function withIntake(random: SeededRandom, plan: RunPlan): RunPlan {
  // After a loss the shop would have to send everything again, which it does without the intake.
  if (!random.chance(0.25) || plan.lostDiskAtMs !== null) return plan;
  // Hours of scans of an empty inbox would take most of the time of a long run.
  if (plan.faultsOffMs > 300_000) return plan;
  const intake = {
    files: [] as FilePlan[],
    requests: [] as RequestPlan[],
    shopOrders: [] as ShopOrderPlan[],
  };
  const batches: OrderBatch[] = [];
  const moved = new Set<string>();
  const short = withShortIccids(plan);
  for (const [index, batch] of short.batches.entries()) {
    const way = random.pick('folder', 'folder', 'http', 'http', 'shop', 'shop', 'direct');
    const number = index + 1;
    const shopOrder = way === 'shop' ? drawShopOrder(random, batch, number) : null;
    if (shopOrder !== null) {
      intake.shopOrders.push(shopOrder);
      for (const { orderId } of batch.lines) moved.add(orderId);
      batches.push({ ...batch, lines: shopOrder.lines, byIntake: true });
    } else if (way === 'folder') {
      const file = drawFile(random, batch, number);
      const changed = random.chance(0.2) ? changedFile(random, file, plan.faultsOffMs) : null;
      intake.files.push(file, ...(changed === null ? [] : [changed]));
      const lines = file.lines.filter(({ mistake }) => mistake === 'none').map(({ line }) => line);
      batches.push({ ...batch, lines, byIntake: true });
    } else if (way === 'http') {
      const request = drawRequest(random, batch, number);
      const changed = random.chance(0.2) ? changedRequest(random, request, plan.faultsOffMs) : null;
      intake.requests.push(request, ...(changed === null ? [] : [changed]));
      const lines = isRefused(request) ? [] : request.lines.map(({ line }) => line);
      if (lines.length === 0) for (const { orderId } of batch.lines) moved.add(orderId);
      batches.push({ ...batch, lines, byIntake: true });
    } else batches.push(batch);
  }
  const atPlace = intakeCrashPlaces[random.int(0, intakeCrashPlaces.length - 1)] ?? '';
  const aimed: CrashPlan = {
    afterPorts: 0,
    atPlace,
    kind: random.pick('kill', 'power'),
    downMs: random.pick(1, 5000),
  };
  return {
    ...short,
    batches,
    crashes: random.chance(0.4) ? [aimed, ...short.crashes.slice(0, 2)] : short.crashes,
    // Replacements are ordered when the result of an order of the plain shop is there.
    replacements: plan.replacements.filter(({ orderId }) => !moved.has(orderId)),
    intake: {
      ...plainIntake,
      ...intake,
      ready: random.pick('stable', 'stable', 'done_file'),
      lossShare: random.pick(0, 0.1, 0.3),
      slowShare: random.pick(0, 0, 0.02, 0.1),
      fileErrors: drawFileErrors(random),
    },
  };
}
