import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { withFolder } from '../support/folder.ts';
import { goal, median, type Row } from '../support/row.ts';

const connections = 64;
const rounds = 3;
/** In seconds, until Node has compiled the code: a worker runs for weeks. */
const warmUpMs = 5000;
const measuredMs = 3000;
const token = 'token-of-the-bench-01';

const kinds = ['no-op', 'intake'] as const;
type Kind = (typeof kinds)[number];

const loadReport = z.object({ perSecond: z.number(), others: z.number(), made: z.number() });

/** A child process of the bench: it gets one message and answers with messages. */
function child(script: string, task: object) {
  const started = fork(new URL(script, import.meta.url), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
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
async function acceptsOf(kind: Kind, round: number, parent: string): Promise<number> {
  const folder = join(parent, `${kind}-${round}`);
  mkdirSync(folder);
  const target = child('target-child.ts', { kind, folder, token });
  try {
    const { port } = z.object({ port: z.number() }).parse(await target.next());
    const task = { port, connections, warmUpMs, measuredMs, token, prefix: `bench-${round}` };
    const load = child('load-child.ts', task);
    const report = loadReport.parse(await load.next());
    await load.end();
    if (report.others > 0)
      throw new Error(`${kind}: ${report.others} of ${report.made} orders were not accepted`);
    return report.perSecond;
  } finally {
    await target.end();
  }
}

export async function measure(): Promise<readonly Row[]> {
  return await withFolder(async (folder) => {
    const samples = new Map<Kind, number[]>(kinds.map((kind) => [kind, []]));
    for (let round = 0; round < rounds; round += 1) {
      for (const kind of kinds) samples.get(kind)?.push(await acceptsOf(kind, round, folder));
    }
    return rowsOf(samples);
  });
}

const shown = (rate: number): string => `${Math.round(rate).toLocaleString('en')}/s`;

function rowsOf(samples: ReadonlyMap<Kind, readonly number[]>): readonly Row[] {
  const bench = 'http-accepts';
  const [ours, bare] = [samples.get('intake') ?? [], samples.get('no-op') ?? []];
  /**
   * The median of the quotients of each round: two targets of one round run under the same load.
   */
  const quotient = median(ours.map((rate, round) => rate / (bare[round] ?? Number.NaN)));
  return [
    {
      bench,
      what: `orders over HTTP, on disk when they are answered, ${connections} connections, median of ${rounds}`,
      result: shown(median(ours)),
      ratio: `${quotient.toFixed(2)} of the no-op route`,
      goal: goal('0.4, better 0.5', quotient >= 0.4),
    },
    {
      bench,
      what: 'a no-op route of the same server',
      result: shown(median(bare)),
      ratio: '1',
      goal: '',
    },
  ];
}
