import { Argument, type Command } from 'commander';
import { isoTime, shortDuration, shortTime } from '../../core/clock.ts';
import { entryStates } from '../../core/entry/states.ts';
import type { PauseView } from '../../core/operator/queue-explanation.ts';
import { pauseView } from '../../submit/explain-queue.ts';
import type { PausedSink } from '../../store/read/delivery-list.ts';
import { addAnswerOptions, configFrom, withReader, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { jsonFields, writeAnswer } from '../output.ts';
import { attentionGroupsText, attentionTotal, columnsOf, renderTable } from '../table.ts';
import type { OutboxReader } from '../../store/read/outbox-reader.ts';
import { cliActor, sendCommand } from '../worker-client.ts';
import { addQueueExplain } from './queue-explain.ts';

/** How many rows and causes of the attention list are shown; the count of all is not limited. */
const shownAttention = 20;
const mostCounted = 10_000;
const scopes =
  'account, key:<name>, balance:<currency>, family:gift_card, family:esim, variant:<id> (a gift card product) or plan:<id> (an eSIM product)';
const descriptions = {
  pause: 'stop sending for a scope until it is resumed',
  resume: 'resume a scope that is paused',
} as const;

export function addQueue(program: Command, context: CliContext): void {
  const queue = program.command('queue');
  addStatus(queue, context);
  addQueueExplain(queue, context);
  for (const action of ['pause', 'resume'] as const) addPauseCommand(queue, action, context);
}

function addStatus(queue: Command, context: CliContext): void {
  const status = queue.command('status').description('show what is open, what is paused, and what needs review');
  addAnswerOptions(status).action((options: ConfigOptions) =>
    withReader(options, (reader) => writeStatus(reader, options, context)),
  );
}

function writeStatus(reader: OutboxReader, options: ConfigOptions, context: CliContext): void {
  const counts = reader.counts();
  const { open, oldestOpenMs, dueDeliveries } = reader.backlog();
  const pauses = reader.pauses().map(pauseView);
  const sinks = reader.sinkPauses();
  const attention = reader.attention(shownAttention);
  const groups = reader.attentionGroups({}, { limit: shownAttention, atMost: mostCounted });
  const counted = reader.attentionCounts();
  const nowMs = context.clock.wallMs();
  const today = isoTime(nowMs).slice(0, 10);
  const spentToday = reader.spending({ fromMs: Date.parse(today), untilMs: nowMs + 1 });
  const report = {
    entries: counts,
    open,
    oldest_open_at: oldestOpenMs === null ? null : isoTime(oldestOpenMs),
    results_due: dueDeliveries,
    spent_today: spentToday,
    pauses,
    paused_sinks: sinks.map(({ sinceMs, probeAtMs, ...sink }) =>
      jsonFields({ ...sink, since: isoTime(sinceMs), nextProbeAt: isoTime(probeAtMs) }),
    ),
    attention_counts: counted,
    attention: attention.map(jsonFields),
    attention_groups: groups.map(({ kind, code, subject, count, sources, since }) => {
      return { kind, code, subject, count, sources, since };
    }),
  };
  const age = oldestOpenMs === null ? '' : `, the oldest for ${shortDuration(nowMs - oldestOpenMs)}`;
  const states = entryStates.filter((state) => counts[state] > 0).map((state) => [state, String(counts[state])]);
  const columns = columnsOf(context);
  const sections = [
    `${open} open${age}; ${dueDeliveries} results to be written\n`,
    spentToday.map(spentText).join(''),
    attentionTotal(counted),
    renderTable(['STATE', 'ENTRIES'], states, columns),
    renderTable(['PAUSED', 'SINCE', 'BY', 'HOLDS UP', 'REASON'], pauses.map(pauseRow), columns),
    renderTable(['SINK PAUSED', 'SINCE', 'WAITING', 'REASON'], sinks.map(sinkRow), columns),
    attentionGroupsText(groups, columns),
  ];
  writeAnswer(context, options, report, sections.filter((section) => section !== '').join('\n'));
}

const spentText = ({ currency, orders, spent, refunded }: ReturnType<OutboxReader['spending']>[number]): string =>
  `spent today (UTC): ${spent} ${currency}, refunded ${refunded}, orders charged: ${orders}\n`;

function pauseRow({ scope, since, opened_by: openedBy, reason, message, holds_up: holdsUp }: PauseView): string[] {
  return [scope, shortTime(since), openedBy, String(holdsUp), message === '' ? reason : `${reason}: ${message}`];
}

function sinkRow({ sink, sinceMs, waiting, message }: PausedSink): string[] {
  return [sink, shortTime(isoTime(sinceMs)), String(waiting), message];
}

function addPauseCommand(queue: Command, action: 'pause' | 'resume', context: CliContext): void {
  const command = queue
    .command(action)
    .description(descriptions[action])
    .addArgument(new Argument('<scope>', scopes))
    .requiredOption('--reason <text>', 'why, for the audit log; at least 3 characters');
  addAnswerOptions(command).action(async (scope: string, options: ConfigOptions & { reason: string }) => {
    const { config } = await configFrom(options);
    await sendCommand(config, { action, scope, actor: cliActor(), reason: options.reason }, 'scope', context);
    const paused = action === 'pause';
    const text = paused ? `${scope} is paused until it is resumed\n` : `${scope} is resumed\n`;
    writeAnswer(context, options, { scope, paused }, text);
  });
}
