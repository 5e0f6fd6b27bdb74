import { Argument, type Command } from 'commander';
import type { CommandResult } from '../../core/operator/operator-command.ts';
import type { EntryExplanation, QueueExplanation } from '../../core/operator/queue-explanation.ts';
import { shortDuration, shortTime } from '../../core/clock.ts';
import { explain, pauseText } from '../../submit/explain-queue.ts';
import {
  addAnswerOptions,
  configWithoutSecrets,
  dataDirOf,
  withReader,
  type ConfigOptions,
} from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { plainLines, writeAnswer } from '../output.ts';
import { renderTable } from '../table.ts';
import { askWorker } from '../worker-client.ts';

export function addQueueExplain(queue: Command, context: CliContext): void {
  const command = queue
    .command('explain')
    .description('show why an entry is not sent yet, and about when it will be')
    .addArgument(new Argument('[reference]', 'an entry; without it, the queue as a whole'));
  addAnswerOptions(command).action(async (reference: string | undefined, options: ConfigOptions) => {
    const asked = { action: 'explain', reference: reference ?? null } as const;
    const nowMs = context.clock.wallMs();
    const answered = await askWorker({ dataDir: await dataDirOf(options) }, asked);
    const result = answered ?? (await explainWithoutWorker(options, asked.reference, nowMs));
    if (result.kind !== 'queue' && result.kind !== 'queued_entry') return;
    const text =
      result.kind === 'queue' ? queueAsText(result.explanation, nowMs) : entryAsText(result.explanation, nowMs);
    writeAnswer(context, options, result.explanation, text);
  });
}

/** Without a worker nothing is sent: there is no budget to ask, and no estimate. */
async function explainWithoutWorker(
  options: ConfigOptions,
  reference: string | null,
  nowMs: number,
): Promise<CommandResult> {
  const { submit, disk } = (await configWithoutSecrets(options)).config;
  const { maxUnknownOutcomes } = submit;
  const limits = { maxUnknownOutcomes, minFreeBytes: disk.sendingMinFreeBytes };
  return await withReader(options, (read) => explain({ read, nowMs, ...limits, worker: null }, reference));
}

function queueAsText(queue: QueueExplanation, nowMs: number): string {
  const paused = queue.to_send_paused === 0 ? '' : `, ${queue.to_send_paused} of them in a paused scope`;
  const waiting = queue.to_send_waiting === 0 ? '' : `, ${queue.to_send_waiting} of them wait for their time`;
  const limits = queue.limits.map((it) => [it.limit, `${it.used} of ${it.capacity}`, timeOrDash(it.next_free_at)]);
  const keys = queue.keys.map(({ name, state, until, orders_used: orders, requests_used: requests }) => {
    return [name, state.replace('_', ' '), timeOrDash(until), String(orders), String(requests)];
  });
  const pauses = queue.pauses.map(pauseText).filter((text) => !queue.reasons.includes(text));
  const head = [
    `${queue.to_send} to send${paused}${waiting}; the outcome of ${queue.outcome_unknown} is unknown; ${endOf(queue, nowMs)}`,
    ...queue.reasons.map((reason) => `nothing new is sent: ${reason}`),
    ...pauses,
    ...queue.notes.map((note) => `note: ${note}`),
  ];
  const limitTable = renderTable(['LIMIT', 'USED', 'NEXT SLOT'], limits);
  const keyTable = renderTable(['KEY', 'STATE', 'UNTIL', 'ORDERS', 'REQUESTS'], keys);
  return [plainLines(head), limitTable, keyTable].filter(Boolean).join('\n');
}

function endOf(queue: QueueExplanation, nowMs: number): string {
  const { to_send: toSend, to_send_paused: paused, to_send_waiting: waiting, drained_at: drainedAt } = queue;
  if (toSend === 0) return 'nothing is to be sent';
  if (!queue.worker_answers) return 'without a worker there is no estimate';
  const what = paused + waiting === 0 ? 'all of it' : 'the rest';
  if (drainedAt === null) return `when ${toSend === paused + waiting ? 'it' : what} is sent cannot be estimated`;
  const inMs = Date.parse(drainedAt) - nowMs;
  return inMs <= 0
    ? `${what} can be sent now`
    : `${what} is sent ${about(drainedAt, inMs)}, at ${queue.per_minute} a minute`;
}

function entryAsText(entry: EntryExplanation, nowMs: number): string {
  const { reference, state, reasons, calls_ahead: ahead, starts_at: startsAt, per_minute: perMinute } = entry;
  const inMs = startsAt === null ? 0 : Date.parse(startsAt) - nowMs;
  return plainLines([
    `${reference} is ${state}`,
    ...reasons.map((reason) => `  why     ${reason}`),
    ...(ahead === null ? [] : [`  place   ${ahead === 0 ? 'it is the next' : `about ${ahead} are ahead of it`}`]),
    ...(startsAt === null
      ? []
      : [`  starts  ${inMs <= 0 ? 'now' : `${about(startsAt, inMs)}, at ${perMinute} orders a minute`}`]),
  ]);
}

const about = (at: string, inMs: number): string => `in about ${shortDuration(inMs)} (${shortTime(at)})`;
const timeOrDash = (at: string | null): string => (at === null ? '-' : shortTime(at));
