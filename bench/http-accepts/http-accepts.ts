import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { startRedis } from '../limiters/redis.ts';
import { withFolder } from '../support/folder.ts';
import { goal, median, type Row } from '../support/row.ts';
import { pgBossClass } from './pg-boss.ts';
import { startPostgres } from './postgres.ts';

const connections = 64;
const rounds = 3;
/** In seconds, until Node has compiled the code: a worker runs for weeks. */
const warmUpMs = 5000;
const measuredMs = 3000;
const token = 'token-of-the-bench-01';

type Kind = 'intake' | 'no-op' | 'bullmq' | 'pg-boss';

interface Place {
  readonly folder: string;
  readonly redisPort: number | null;
  readonly postgresUrl: string | null;
}

const loadReport = z.object({ perSecond: z.number(), others: z.number(), made: z.number() });

/** A child process of the bench: it gets one message and answers with messages. */
function child(script: string, task: object) {
  const started = fork(new URL(script, import.meta.url), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const exited = once(started, 'exit');
  started.send(task);
  return {
    async next(): Promise<unknown> {
      const [message] = await Promise.race([
        once(started, 'message'),
        exited.then(([code]) => Promise.reject(new Error(`${script} ended with ${String(code)}`))),
      ]);
      return message;
    },
    async end(): Promise<void> {
      if (started.connected) started.disconnect();
      await exited;
    },
  };
}

/** The acknowledged orders per second of one target, with its own server and store. */
async function acceptsOf(kind: Kind, round: number, place: Place): Promise<number> {
  const folder = join(place.folder, `${kind}-${round}`);
  mkdirSync(folder);
  const target = child('target-child.ts', { ...place, kind, folder, token });
  try {
    const { port } = z.object({ port: z.number() }).parse(await target.next());
    const task = { port, connections, warmUpMs, measuredMs, token, prefix: `bench-${round}` };
    const load = child('load-child.ts', task);
    const report = loadReport.parse(await load.next());
    await load.end();
    if (report.others > 0) throw new Error(`${kind}: ${report.others} of ${report.made} orders were not accepted`);
    return report.perSecond;
  } finally {
    await target.end();
  }
}

export async function measure(): Promise<readonly Row[]> {
  return await withFolder(async (folder) => {
    const redisFolder = join(folder, 'redis');
    mkdirSync(redisFolder);
    const redis = await startRedis(redisFolder, { durable: true });
    const postgres = (await pgBossClass()) === null ? 'pg-boss is not installed: npm ci' : await startPostgres();
    const place = {
      folder,
      redisPort: redis?.port ?? null,
      postgresUrl: typeof postgres === 'string' ? null : postgres.url,
    };
    try {
      const kinds: Kind[] = ['no-op', 'intake'];
      if (place.redisPort !== null) kinds.push('bullmq');
      if (place.postgresUrl !== null) kinds.push('pg-boss');
      const samples = new Map<Kind, number[]>(kinds.map((kind) => [kind, []]));
      for (let round = 0; round < rounds; round += 1) {
        for (const kind of kinds) samples.get(kind)?.push(await acceptsOf(kind, round, place));
      }
      return rowsOf(samples, typeof postgres === 'string' ? postgres : null);
    } finally {
      await redis?.stop();
      if (typeof postgres !== 'string') await postgres.stop();
    }
  });
}

const shown = (rate: number): string => `${Math.round(rate).toLocaleString('en')}/s`;

function rowsOf(samples: ReadonlyMap<Kind, readonly number[]>, noPostgres: string | null): readonly Row[] {
  const bench = 'http-accepts';
  const rateOf = (kind: Kind): number => median(samples.get(kind) ?? []);
  /** The median of the quotients of each round: two targets of one round run under the same load. */
  const quotient = (kind: Kind): number =>
    median((samples.get('intake') ?? []).map((rate, round) => rate / (samples.get(kind)?.[round] ?? Number.NaN)));
  const better = (['bullmq', 'pg-boss'] as const)
    .filter((kind) => samples.has(kind))
    .toSorted((a, b) => rateOf(b) - rateOf(a))[0];
  const others = [
    {
      kind: 'bullmq',
      what: 'a route that adds to BullMQ on Redis, appendfsync always',
      missing: 'there is no redis-server here',
    },
    { kind: 'pg-boss', what: 'a route that inserts into pg-boss on PostgreSQL, fsync on', missing: noPostgres },
  ] as const;
  return [
    {
      bench,
      what: `orders over HTTP, on disk when they are answered, ${connections} connections, median of ${rounds}`,
      result: shown(rateOf('intake')),
      ratio: `${quotient('no-op').toFixed(2)} of the no-op route`,
      goal: goal('0.4, better 0.5', quotient('no-op') >= 0.4),
    },
    { bench, what: 'a no-op route of the same server', result: shown(rateOf('no-op')), ratio: '1', goal: '' },
    ...others.map(({ kind, what, missing }): Row => {
      if (!samples.has(kind)) return { bench, what, result: `SKIPPED: ${missing ?? ''}`, ratio: '', goal: '' };
      const times = quotient(kind);
      return {
        bench,
        what,
        result: shown(rateOf(kind)),
        ratio: `ours: ${times.toFixed(1)} x`,
        goal: kind === better ? goal('2 x the better of the two', times >= 2) : '',
      };
    }),
  ];
}
