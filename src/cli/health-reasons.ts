/** What `/healthz` answers, as far as the reasons need it. */
export interface AnsweredHealth {
  readonly checks?: Readonly<Record<string, string>> | undefined;
  readonly details?: Readonly<Record<string, Readonly<Record<string, unknown>>>> | undefined;
  readonly pauses?:
    | readonly { readonly scope: string; readonly reason: string; readonly since: string; readonly holds_up: number }[]
    | undefined;
  readonly pauses_not_shown?: number | undefined;
}

type Details = Readonly<Record<string, unknown>>;

/** The meaning of a check that does not pass, where its details do not say more. */
const meanings: Readonly<Record<string, string>> = {
  database: 'The database cannot be written, or its file was replaced: nothing is accepted.',
  disk: 'The disk of the outbox is nearly full: no new orders are taken in.',
  progress_file: 'The progress file cannot be written: an older copy of the database may not be noticed.',
  folder: 'The inbox or another folder of the intake cannot be used.',
  webhook: 'The intake over HTTP refuses callers, has a long queue, or a SKU map that cannot be used.',
  submission: 'Something is paused.',
  clock: 'The clock of this machine differs from that of the API.',
  results: 'A sink takes no results.',
  config: 'The changed configuration was refused, and the one before is in use: run `order-sync check-config`.',
  read_back: 'A shop cannot be read back.',
};

/**
 * One sentence for each reason why the worker is not well, for people.
 * @param body a check without details is explained in general; one that is not known is named
 */
export function healthReasons(body: AnsweredHealth): readonly string[] {
  return Object.entries(body.checks ?? {})
    .filter(([, status]) => status !== 'pass')
    .flatMap(([name, status]) => {
      const told = name === 'submission' ? pauseReasons(body) : detailReasons(name, body.details?.[name] ?? null);
      return told.length > 0 ? told : [meanings[name] ?? `The check ${name} is \`${status}\`: the log says why.`];
    });
}

function detailReasons(name: string, details: Details | null): readonly string[] {
  if (details === null) return [];
  const { reason, next } = details;
  if (typeof reason === 'string') {
    const sentence = `${reason.charAt(0).toUpperCase()}${reason.slice(1)}`;
    return [typeof next === 'string' ? `${sentence}. To do: ${next}.` : `${sentence}.`];
  }
  if (name === 'attention') return [attentionReason(details)];
  if (name === 'results') return Object.entries(details).map(([sink, pause]) => sinkReason(sink, pause));
  if (name === 'clock' && typeof details['ahead_ms'] === 'number') return [clockReason(details['ahead_ms'])];
  if (name === 'webhook') return [`Callers were refused in the last minute: ${counts(details['refused'])}.`];
  return [];
}

function pauseReasons({ pauses = [], pauses_not_shown: more = 0 }: AnsweredHealth): readonly string[] {
  const shown = pauses.map(
    ({ scope, reason, since, holds_up: count }) =>
      `Nothing is sent for ${scope} since ${since} (${reason}); ${count} entries wait.`,
  );
  return more === 0 ? shown : [...shown, `${more} more scopes are paused: \`order-sync queue status\` has them.`];
}

function attentionReason({ more, ...kinds }: Details): string {
  const next = 'see `order-sync orders list --attention`';
  return `The attention list has ${counts(kinds)}${more === true ? ' and more' : ''}: ${next}.`;
}

function sinkReason(sink: string, pause: unknown): string {
  const { reason, since, waiting }: Details = isObject(pause) ? pause : {};
  return `The sink ${sink} takes no results since ${String(since)} (${String(reason)}); ${String(waiting)} wait.`;
}

function clockReason(aheadMs: number): string {
  const seconds = Math.round(Math.abs(aheadMs) / 1000);
  return `The clock of this machine is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} that of the API.`;
}

function counts(value: unknown): string {
  const known = Object.entries(isObject(value) ? value : {});
  return known.map(([name, count]) => `${String(count)} ${name}`).join(', ');
}

function isObject(value: unknown): value is Details {
  return typeof value === 'object' && value !== null;
}
