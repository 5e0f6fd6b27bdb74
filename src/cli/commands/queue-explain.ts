import { Argument, type Command } from 'commander';
import type { CommandResult } from '../../core/entry/operator-command.ts';
import type { EntryExplanation, QueueExplanation } from '../../core/entry/queue-explanation.ts';
import { explain, pauseText } from '../../submit/explain-queue.ts';
import { addConfigOptions, configFrom, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { plainText, renderTable, shortDuration, shortTime } from '../output.ts';
import { withReader } from '../with-reader.ts';
import { askWorker } from '../worker-client.ts';

export function addQueueExplain(queue: Command, context: CliContext): void {
  const command = queue
    .command('explain')
    .description('show why an entry is not sent yet and when it will be, or when everything is sent')
    .addArgument(new Argument('[reference]', 'an entry; without it, the queue as a whole'))
    .option('--json', 'print JSON');
  addConfigOptions(command).action(
    async (reference: string | undefined, options: ConfigOptions & { json?: boolean }) => {
      const { config } = configFrom(options);
      const asked = { action: 'explain', reference: reference ?? null } as const;
      const nowMs = context.clock.wallMs();
      const result = (await askWorker(config, asked)) ?? fromStoredFacts(options, asked.reference, nowMs);
      if (result.kind !== 'queue' && result.kind !== 'queued_entry') return;
      if (options.json) context.stdout.write(`${JSON.stringify(result.explanation)}\n`);
      else if (result.kind === 'queue') context.stdout.write(queueAsText(result.explanation, nowMs));
      else context.stdout.write(entryAsText(result.explanation, nowMs));
    },
  );
}

/** Without a worker nothing is sent: there is no budget to ask, and no forecast. */
function fromStoredFacts(options: ConfigOptions, reference: string | null, nowMs: number): CommandResult {
  const { maxUnknownOutcomes } = configFrom(options).config.submit;
  return withReader(options, (read) => explain({ read, nowMs, maxUnknownOutcomes, worker: null }, reference));
}

function queueAsText(queue: QueueExplanation, nowMs: number): string {
  const paused = queue.to_send_paused === 0 ? '' : `, ${queue.to_send_paused} of them in a paused scope`;
  const limits = queue.limits.map((it) => [it.limit, `${it.used} of ${it.capacity}`, timeOrDash(it.next_free_at)]);
  const keys = queue.keys.map((key) => [
    key.name,
    key.state.replace('_', ' '),
    timeOrDash(key.until),
    String(key.orders_used),
    String(key.requests_used),
  ]);
  const pauses = queue.pauses.map(pauseText).filter((text) => !queue.reasons.includes(text));
  return [
    `${queue.to_send} to send${paused}; the outcome of ${queue.outcome_unknown} is unknown; ${endOf(queue, nowMs)}\n`,
    ...queue.reasons.map((reason) => `nothing new is sent: ${plainText(reason)}\n`),
    ...pauses.map((text) => `${plainText(text)}\n`),
    ...queue.notes.map((note) => `note: ${plainText(note)}\n`),
    ...(limits.length === 0 ? [] : ['\n', renderTable(['LIMIT', 'USED', 'NEXT SLOT'], limits)]),
    ...(keys.length === 0 ? [] : ['\n', renderTable(['KEY', 'STATE', 'UNTIL', 'ORDERS', 'REQUESTS'], keys)]),
  ].join('');
}

function endOf(queue: QueueExplanation, nowMs: number): string {
  const { to_send: toSend, to_send_paused: paused, unpaused_drained_at: drainedAt } = queue;
  if (toSend === 0) return 'nothing is to be sent';
  if (!queue.worker_answers) return 'there is no forecast without a worker';
  const what = paused === 0 ? 'all of it' : 'the rest';
  if (drainedAt === null) return `when ${toSend === paused ? 'it' : what} is sent cannot be forecast`;
  const inMs = Date.parse(drainedAt) - nowMs;
  return inMs <= 0 ? `${what} can be sent now` : `${what} is sent by ${earliest(drainedAt, inMs)}`;
}

function entryAsText(entry: EntryExplanation, nowMs: number): string {
  const { reference, state, reasons, calls_ahead: ahead, starts_at: startsAt } = entry;
  const inMs = startsAt === null ? 0 : Date.parse(startsAt) - nowMs;
  const lines = [
    `${reference} is ${state}`,
    ...reasons.map((reason) => `  why     ${reason}`),
    ...(ahead === null ? [] : [`  place   ${ahead + 1} (at most ${ahead} calls come before it)`]),
    ...(startsAt === null ? [] : [`  starts  ${inMs <= 0 ? 'now' : earliest(startsAt, inMs)}`]),
  ];
  return lines.map((line) => `${plainText(line)}\n`).join('');
}

const earliest = (at: string, inMs: number): string => `${shortTime(at)}, in ${shortDuration(inMs)}, at the earliest`;
const timeOrDash = (at: string | null): string => (at === null ? '-' : shortTime(at));
