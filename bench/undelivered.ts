import { mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { pino } from 'pino';
import { SystemClock, systemRandom } from '../src/ops/system-clock.ts';
import { callbackSink } from '../src/results/callback-sink.ts';
import { DeliveryLoop, type Sink } from '../src/results/delivery-loop.ts';
import { openSubmission, giftCardLine } from './support/submission.ts';
import { withFolder } from './support/folder.ts';
import { goal, median, type Row } from './support/row.ts';
import { keyValueOf, richAccount, startSandbox } from './support/sandbox.ts';

const backlog = 100_000;
const batchLines = 2000;
const bought = 300;
const rounds = 24;
/**
 * So many orders come in together: a shop sends few at a time, and each commit waits for the disk.
 */
const perCommit = 10;
/** How long the endpoint takes to answer, in ms, and how many results it gets. */
const endpoints = [
  { answerMs: 0, drained: 3000 },
  { answerMs: 100, drained: 600 },
] as const;
const parallel = 8;
const sink = 'callback:shop';
const clock = new SystemClock();
const logger = pino({ level: 'silent' });

type Submission = Awaited<ReturnType<typeof openSubmission>>;

function callbackTo(url: string): Sink {
  const secrets = [`whsec_${Buffer.alloc(32, 9).toString('base64')}`];
  const settings = {
    name: 'shop',
    url,
    secrets,
    sources: null,
    events: null,
    connectMs: 1000,
    totalMs: 5000,
  };
  return callbackSink({
    endpoint: 'shop',
    receiver: () => settings,
    clock,
    version: '0.0.0',
    retryTimeScale: 1,
  });
}

/** Orders that were refused have a result that is due, and nothing to buy. */
async function addResults({ store }: Submission, count: number): Promise<void> {
  for (let first = 0; first < count; first += batchLines) {
    const rejections = Array.from({ length: Math.min(batchLines, count - first) }, (_, index) => ({
      lineNumber: null,
      source: 'refused',
      orderId: `refused ${first + index}`,
      lineId: '1',
      product: null,
      code: 'invalid_field',
      field: 'quantity',
      rule: 'must be at least 1',
      value: '0',
    }));
    await store.intake.acceptBatch({ nowMs: Date.now(), fileId: null, lines: [], rejections });
  }
}

/** Takes in and buys some orders. Returns the time of each part, in ms. */
async function takeInAndBuy(
  work: Work,
  name: string,
): Promise<{ intakeMs: number; buyMs: number }> {
  const { submission } = work;
  const { promise: done, resolve } = Promise.withResolvers<void>();
  let left = bought;
  work.onSettled = () => {
    left -= 1;
    if (left === 0) resolve();
  };
  const lines = Array.from({ length: bought }, (_, index) => giftCardLine(`${name} ${index}`));
  const begun = performance.now();
  for (let first = 0; first < bought; first += perCommit) {
    const some = lines.slice(first, first + perCommit);
    await submission.store.intake.acceptBatch({
      nowMs: Date.now(),
      fileId: null,
      rejections: [],
      lines: some,
    });
  }
  const accepted = performance.now();
  submission.dispatcher.notify();
  await Promise.race([done, submission.dispatcher.failed]);
  return { intakeMs: accepted - begun, buyMs: performance.now() - accepted };
}

interface Work {
  readonly submission: Submission;
  readonly loop: DeliveryLoop;
  onSettled: () => void;
}

async function open(folder: string, api: string, receiver: string): Promise<Work> {
  mkdirSync(folder);
  const begun: { work: Work | null } = { work: null };
  const submission = await openSubmission({
    folder,
    url: api,
    keyValue: keyValueOf('undelivered'),
    sinks: [{ name: sink, sources: null }],
    onSettled: () => begun.work?.onSettled(),
  });
  const loop = new DeliveryLoop({
    store: submission.store,
    clock,
    random: systemRandom,
    logger,
    sink: callbackTo(receiver),
  });
  const work = { submission, loop, onSettled: () => undefined };
  begun.work = work;
  return work;
}

/**
 * The same work beside a backlog and without one, in turns, because other programs use the machine,
 * too.
 */
async function beside(folder: string, api: string): Promise<readonly Row[]> {
  // Nothing listens at port 1.
  const dead = 'http://127.0.0.1:1';
  const works = {
    without: await open(join(folder, 'without'), api, dead),
    with: await open(join(folder, 'with'), api, dead),
  };
  await addResults(works.with.submission, backlog);
  for (const { submission, loop } of Object.values(works)) {
    loop.start();
    await submission.dispatcher.start();
  }
  const times = {
    without: { intake: [] as number[], buy: [] as number[] },
    with: { intake: [] as number[], buy: [] as number[] },
  };
  for (let round = 0; round <= rounds; round += 1) {
    // Each is as often the first as the second.
    for (const kind of round % 2 === 0
      ? (['without', 'with'] as const)
      : (['with', 'without'] as const)) {
      const { intakeMs, buyMs } = await takeInAndBuy(works[kind], `${kind} ${round}`);
      // The first round fills caches and proves the product.
      if (round === 0) continue;
      times[kind].intake.push(intakeMs);
      times[kind].buy.push(buyMs);
    }
  }
  const waiting = works.with.submission.store.read.sinkPauses()[0]?.waiting ?? 0;
  for (const { submission, loop } of Object.values(works)) {
    await loop.stop();
    await submission.close();
  }
  return (['intake', 'buy'] as const).map((part) => {
    const [without, withBacklog] = [median(times.without[part]), median(times.with[part])];
    const ratio = without / withBacklog;
    return {
      bench: 'undelivered',
      what: `${part === 'intake' ? 'taking in' : 'buying'} ${bought} orders while ${waiting} results wait for a dead endpoint`,
      result: `${withBacklog.toFixed(0)} ms, without them ${without.toFixed(0)} ms`,
      ratio: ratio.toFixed(2),
      goal: goal('rate 0.95', ratio >= 0.95),
    };
  });
}

/** How fast a backlog is delivered, compared with bare posts to the same endpoint. */
async function drain(
  folder: string,
  api: string,
  endpoint: (typeof endpoints)[number],
): Promise<Row> {
  const { answerMs, drained } = endpoint;
  let posts = 0;
  const { promise: done, resolve: drainedAll } = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      setTimeout(() => response.writeHead(204).end(), answerMs);
      posts += 1;
      // The bare posts come first.
      if (posts === 2 * drained) drainedAll();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  const work = await open(folder, api, url);
  await addResults(work.submission, drained);
  const [due] = await work.submission.store.results.dueDeliveries(sink, Date.now(), 1);
  const bareMs =
    due === undefined ? Number.NaN : await barePosts(callbackTo(url), due.document, drained);
  const begun = performance.now();
  work.loop.start();
  await done;
  const loopMs = performance.now() - begun;
  await work.loop.stop();
  await work.submission.close();
  server.closeAllConnections();
  server.close();
  const rate = (ms: number): string => (drained / (ms / 1000)).toFixed(0);
  return {
    bench: 'undelivered',
    what: `delivering ${drained} results to an endpoint that answers ${answerMs === 0 ? 'at once' : `after ${answerMs} ms`}`,
    result: `${rate(loopMs)} a second, bare posts ${rate(bareMs)}`,
    ratio: (bareMs / loopMs).toFixed(2),
    goal: answerMs === 0 ? '' : goal('rate 0.95', bareMs / loopMs >= 0.95),
  };
}

async function barePosts(
  callback: Sink,
  document: Parameters<Sink['deliver']>[0],
  drained: number,
): Promise<number> {
  const { signal } = new AbortController();
  const ofShop = {
    notePosts: null,
    flags: [],
    deliveredAtMs: 0,
    keepNotePosts: async () => undefined,
  };
  const parts = {
    sharesName: false,
    ordered: new Map(),
    boughtInPlaceOf: new Map(),
    signal,
    confirmed: null,
    ...ofShop,
  };
  let next = 0;
  const begun = performance.now();
  const one = async (): Promise<void> => {
    while (next < drained) {
      next += 1;
      await callback.deliver(document, { ...parts, version: next, confirm: async () => undefined });
    }
  };
  await Promise.all(Array.from({ length: parallel }, one));
  return performance.now() - begun;
}

export async function measure(): Promise<readonly Row[]> {
  return await withFolder(async (folder) => {
    const config = { limits: { enabled: false }, accounts: [richAccount('undelivered')] };
    const sandbox = await startSandbox(folder, config);
    try {
      const rows = [...(await beside(folder, sandbox.url))];
      for (const endpoint of endpoints)
        rows.push(await drain(join(folder, `drain-${endpoint.answerMs}`), sandbox.url, endpoint));
      return rows;
    } finally {
      await sandbox.close();
    }
  });
}
