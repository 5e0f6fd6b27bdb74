import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Receiver } from '../../support/receiver.ts';
import type { Installation } from '../../support/worker-process.ts';

/** A sentence begins with a capital letter. */
const says = (words: RegExp, text: string): boolean => new RegExp(words.source, 'is').test(text);

/** A fault, and what an operator must read about it. */
export interface Fault {
  readonly what: string;
  /** Its cause, in one row of the overview and in one alert. */
  readonly cause: RegExp;
  /** What to do first, in the same row and the same alert. */
  readonly action: RegExp;
  /** The kind of row that `/healthz` counts, else a text in its answer. */
  readonly health: string | RegExp;
  /**
   * Its alert comes later: it may be an outage of less than a minute, about which none may come, or
   * it shows once a minute.
   */
  readonly isLater?: boolean;
}

export const places = ['overview', 'health', 'alert'] as const;
export type Place = (typeof places)[number];
/** After how many ms each place named the fault. */
export type Named = Partial<Record<Place, number>>;

interface Alert {
  readonly data: {
    readonly firing: readonly {
      readonly condition: string;
      readonly message: string;
      readonly what_to_do: string;
      readonly examples: readonly { readonly what_to_do: string }[];
    }[];
  };
}

/** The texts of one alert: each row with its advice, or the condition where it has no rows. */
function alertTexts(body: string): readonly string[] {
  const { data }: Alert = JSON.parse(body);
  return data.firing.flatMap(({ condition, message, what_to_do: next, examples }) =>
    examples.length === 0
      ? [`${condition}: ${message}. ${next}`]
      : examples.map((row) => `${condition}: ${JSON.stringify(row)}`),
  );
}

/** The causes and pauses of a page, and its banner. */
function pageTexts(html: string): readonly string[] {
  const blocks = [
    ...html.matchAll(
      /<li\b[^>]*>[\s\S]*?<\/li>|<section class="status[\s\S]*?<\/section>|<p class="(?:problem|warning)">[\s\S]*?<\/p>/g,
    ),
  ];
  const plain = (text: string): string =>
    text
      .replaceAll(/<[^>]+>/g, ' ')
      .replaceAll('&quot;', '"')
      .replaceAll('&#39;', "'")
      .replaceAll(/\s+/g, ' ');
  return blocks.map(([block]) => plain(block));
}

interface Health {
  readonly details?: { readonly attention?: Readonly<Record<string, number>> };
}

/**
 * Looks at the overview, health and alerts of one worker until all of its faults are named, or
 * until the time is over.
 */
export async function watch(
  { installation, receiver }: { readonly installation: Installation; readonly receiver: Receiver },
  faults: readonly Fault[],
  limitMs: number,
): Promise<ReadonlyMap<Fault, Named>> {
  const run: { admin_address: string } = JSON.parse(
    readFileSync(join(installation.folder, 'run.json'), 'utf8'),
  );
  // A connection that was kept may end at the moment of the next question.
  const headers = { accept: 'text/html', connection: 'close' };
  const ask = async (path: string): Promise<string> =>
    await (await fetch(`http://${run.admin_address}${path}`, { headers })).text();
  const startMs = performance.now();
  const named = new Map<Fault, Named>(faults.map((fault) => [fault, {}]));
  const isNamed = (): boolean =>
    [...named.values()].every((found) => places.every((place) => found[place]));
  while (!isNamed() && performance.now() - startMs < limitMs) {
    const overview = pageTexts(await ask('/'));
    const health = await ask('/healthz');
    const alerts = receiver.posts.flatMap(({ body }) => alertTexts(body));
    const passedMs = performance.now() - startMs;
    for (const [fault, found] of named) {
      const isIn = (texts: readonly string[]) =>
        texts.some((text) => says(fault.cause, text) && says(fault.action, text));
      if (isIn(overview)) found.overview ??= passedMs;
      if (isIn(alerts)) found.alert ??= passedMs;
      if (shows(health, fault, faults)) found.health ??= passedMs;
    }
    await delay(500);
  }
  return named;
}

/** Of rows of one kind, health must count as many as there are faults. */
function shows(text: string, { health }: Fault, faults: readonly Fault[]): boolean {
  if (typeof health !== 'string') return health.test(text);
  const { details }: Health = JSON.parse(text);
  return (
    (details?.attention?.[health] ?? 0) >= faults.filter((other) => other.health === health).length
  );
}
