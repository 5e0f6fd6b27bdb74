import { Argument, type Command } from 'commander';
import { counted } from '../../core/counts.ts';
import { sentence } from '../../core/message-text.ts';
import { isoTime, shortDuration, shortTime } from '../../core/clock.ts';
import { affectedText } from '../../core/operator/affected.ts';
import { balanceText, readAmount, type Balance } from '../../core/operator/balance.ts';
import { entryStates } from '../../core/entry/states.ts';
import type {
  EntryExplanation,
  PauseView,
  QueueExplanation,
} from '../../core/operator/queue-explanation.ts';
import { explain, pauseText, pauseView } from '../../buying/queue/explain-queue.ts';
import type { AttentionGroup } from '../../store/read/attention.ts';
import type { PausedSink } from '../../store/read/delivery-list.ts';
import {
  addAnswerOptions,
  addReason,
  type BulkForm,
  configFrom,
  type ConfigOptions,
  configWithoutSecrets,
  dataDirOf,
  withReader,
} from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { jsonFields, plainLines, writeAnswer } from '../output.ts';
import { attentionGroupsText, attentionTotal, columnsOf, renderTable } from '../table.ts';
import type { OutboxReader } from '../../store/read/outbox-reader.ts';
import { askWorker, cliActor, sendCommand } from '../worker-client.ts';

/** How many rows and causes of the attention list are shown; the count of all is not limited. */
const shownAttention = 20;
const mostCounted = 10_000;
const scopes =
  'account, key:<name>, balance:<currency>, family:gift_card, family:esim, variant:<id> (a gift card product) or plan:<id> (an eSIM product)';
const descriptions = {
  pause: 'stop sending for a scope until it is resumed',
  resume: 'resume a scope that is paused; sink:<name> tries a paused sink at once',
} as const;

export function addQueue(program: Command, context: CliContext): void {
  const queue = program.command('queue');
  addStatus(queue, context);
  for (const action of ['pause', 'resume'] as const) addPauseCommand(queue, action, context);
}

function addStatus(queue: Command, context: CliContext): void {
  const status = queue
    .command('status')
    .description('show what is open, what is paused, and what needs review')
    .option(
      '--explain [reference]',
      'show why an entry, or the whole queue, is not sent yet, and when it will be',
    );
  addAnswerOptions(status).action(async (options: ConfigOptions & { explain?: string | true }) => {
    const { explain: asked } = options;
    if (asked !== undefined)
      await writeExplanation(asked === true ? null : asked, options, context);
    else await withReader(options, (reader) => writeStatus(reader, options, context));
  });
}

function writeStatus(reader: OutboxReader, options: ConfigOptions, context: CliContext): void {
  const counts = reader.counts();
  const { open, oldestOpenAtMs, dueDeliveries } = reader.backlog();
  const pauses = reader.pauses().map((pause) => {
    return { ...pauseView(pause), affects: pause.affects() };
  });
  const sinks = reader.sinkPauses();
  const attention = reader.attention(shownAttention);
  const groups = reader.attentionGroups({}, { limit: shownAttention, atMost: mostCounted });
  const attentionCounts = reader.attentionCounts();
  const nowMs = context.clock.wallMs();
  const spentToday = reader.spending({ fromMs: nowMs, untilMs: nowMs + 1 });
  const balances = reader.balances();
  const report = {
    entries: counts,
    open,
    oldest_open_at: oldestOpenAtMs === null ? null : isoTime(oldestOpenAtMs),
    results_due: dueDeliveries,
    spent_today: spentToday,
    balances: balances.map(jsonFields),
    pauses,
    paused_sinks: sinks.map(({ sinceMs, probeAtMs, ...sink }) =>
      jsonFields({ ...sink, since: isoTime(sinceMs), nextProbeAt: isoTime(probeAtMs) }),
    ),
    attention_counts: attentionCounts,
    attention: attention.map(jsonFields),
    attention_groups: groups.map(({ kind, code, subject, count, sources, since, affects }) => {
      return { kind, code, subject, count, sources, since, affects };
    }),
  };
  const age =
    oldestOpenAtMs === null ? '' : `, the oldest for ${shortDuration(nowMs - oldestOpenAtMs)}`;
  const states = entryStates
    .filter((state) => counts[state] > 0)
    .map((state) => [state, String(counts[state])]);
  const columns = columnsOf(context);
  const sections = [
    `${open} open${age}; ${counted(dueDeliveries, 'result')} to be written\n`,
    [...spentToday.map(spentText), ...balances.map(balanceLine)].join(''),
    attentionTotal(attentionCounts),
    renderTable(['STATE', 'ENTRIES'], states, columns),
    renderTable(
      ['PAUSED', 'SINCE', 'BY', 'HOLDS UP', 'REASON'],
      pauses.map((pause) => pauseRow(pause, nowMs)),
      columns,
    ),
    renderTable(['SINK PAUSED', 'SINCE', 'WAITING', 'REASON'], sinks.map(sinkRow), columns),
    attentionGroupsText(groups, nowMs, columns),
  ];
  writeAnswer(context, options, report, sections.filter((section) => section !== '').join('\n'));
}

const spentText = ({
  currency,
  orders,
  spent,
  uncounted,
  refunded,
  refunds_unknown: unknown,
}: ReturnType<OutboxReader['spending']>[number]): string =>
  `spent today (UTC): ${spent} ${currency}, refunded ${refunded}${unknown > 0 ? ` and ${counted(unknown, 'refund')} of an unknown amount` : ''}, orders charged: ${orders}${uncounted > 0 ? `; not counted, of unknown cost: ${uncounted}` : ''}\n`;

const balanceLine = (balance: Balance): string => `balance: ${balanceText(balance)}\n`;

export function addBalance(program: Command, context: CliContext): void {
  const set = program
    .command('balance')
    .command('set')
    .description('enter a balance as the supplier shows it')
    .argument('<currency>', 'for example USD')
    .argument('<amount>', 'for example 1200.00')
    .option('--reason <text>', 'why, for the audit log', 'the supplier shows it')
    .option('--dry-run', 'only show what is known now');
  addAnswerOptions(set).action(async (currency: string, amount: string, options: BulkForm) => {
    const { reason = '', dryRun } = options;
    const given = readAmount(`${amount} ${currency}`);
    const command = { action: 'set_balance', ...given, actor: cliActor(), reason } as const;
    if (dryRun !== true)
      await sendCommand((await configFrom(options)).config, command, 'scope', context);
    const balances = await withReader(options, (reader) => reader.balances());
    const text = balances.map(balanceLine).join('') || 'no balance is known\n';
    writeAnswer(context, options, { balances: balances.map(jsonFields) }, text);
  });
}

function pauseRow(
  {
    scope,
    since,
    opened_by: openedBy,
    reason,
    message,
    holds_up: holdsUp,
    affects,
  }: PauseView & Pick<AttentionGroup, 'affects'>,
  nowMs: number,
): string[] {
  return [
    scope,
    shortTime(since),
    openedBy,
    affectedText(affects, nowMs) || String(holdsUp),
    message === '' ? reason : `${reason}: ${message}`,
  ];
}

function sinkRow({ sink, sinceMs, waiting, message }: PausedSink): string[] {
  return [sink, shortTime(isoTime(sinceMs)), String(waiting), message];
}

function addPauseCommand(queue: Command, action: 'pause' | 'resume', context: CliContext): void {
  const command = queue
    .command(action)
    .description(descriptions[action])
    .addArgument(new Argument('<scope>', scopes));
  addReason(command).action(async (scope: string, options: ConfigOptions & { reason: string }) => {
    const { config } = await configFrom(options);
    await sendCommand(
      config,
      { action, scope, actor: cliActor(), reason: options.reason },
      'scope',
      context,
    );
    const paused = action === 'pause';
    const resumed = scope.startsWith('sink:') ? 'is tried now' : 'is resumed';
    const text = `${scope} ${paused ? 'is paused until it is resumed' : resumed}\n`;
    writeAnswer(context, options, { scope, paused }, text);
  });
}

async function writeExplanation(
  reference: string | null,
  options: ConfigOptions,
  context: CliContext,
): Promise<void> {
  const nowMs = context.clock.wallMs();
  const answered = await askWorker(
    { dataDir: await dataDirOf(options) },
    { action: 'explain', reference },
  );
  const result = answered ?? (await explainWithoutWorker(options, reference, nowMs));
  if (result.kind !== 'queue' && result.kind !== 'queued_entry') return;
  const text =
    result.kind === 'queue'
      ? queueAsText(result.explanation, nowMs)
      : entryAsText(result.explanation, nowMs);
  writeAnswer(context, options, result.explanation, text);
}

/** Without a worker nothing is sent: there is no budget to ask, and no estimate. */
async function explainWithoutWorker(
  options: ConfigOptions,
  reference: string | null,
  nowMs: number,
) {
  const { submit, disk } = (await configWithoutSecrets(options)).config;
  const { maxUnknownOutcomes } = submit;
  const limits = { maxUnknownOutcomes, minFreeBytes: disk.sendingMinFreeBytes };
  return await withReader(options, (read) =>
    explain({ read, nowMs, ...limits, worker: null }, reference),
  );
}

function queueAsText(queue: QueueExplanation, nowMs: number): string {
  const paused =
    queue.to_send_paused === 0 ? '' : `, ${queue.to_send_paused} of them in a paused scope`;
  const waiting =
    queue.to_send_waiting === 0 ? '' : `, ${queue.to_send_waiting} of them wait for their time`;
  const limits = queue.limits.map((it) => [
    it.limit,
    `${it.used} of ${it.capacity}`,
    timeOrDash(it.next_free_at),
  ]);
  const keys = queue.keys.map(
    ({ name, state, until, orders_used: orders, requests_used: requests }) => {
      return [name, state.replace('_', ' '), timeOrDash(until), String(orders), String(requests)];
    },
  );
  const pauses = queue.pauses.map(pauseText).filter((text) => !queue.reasons.includes(text));
  const head = [
    `${queue.to_send} to send${paused}${waiting}; the outcome of ${queue.outcome_unknown} is unknown; ${endOf(queue, nowMs)}`,
    ...queue.reasons.map((reason) => `nothing new is sent: ${reason}`),
    ...pauses,
    ...queue.notes.map((note) => `note: ${note}`),
  ];
  const limitTable = renderTable(['LIMIT', 'USED', 'NEXT SLOT'], limits);
  const keyTable = renderTable(['KEY', 'STATE', 'UNTIL', 'ORDERS', 'REQUESTS'], keys);
  return [plainLines(head.map(sentence)), limitTable, keyTable].filter(Boolean).join('\n');
}

function endOf(queue: QueueExplanation, nowMs: number): string {
  const {
    to_send: toSend,
    to_send_paused: paused,
    to_send_waiting: waiting,
    drained_at: drainedAt,
  } = queue;
  if (toSend === 0) return 'nothing is to be sent';
  if (!queue.worker_answers) return 'without a worker there is no estimate';
  const what = paused + waiting === 0 ? 'all of it' : 'the rest';
  if (drainedAt === null)
    return `there is no estimate of when ${toSend === paused + waiting ? 'it' : what} is sent`;
  const inMs = Date.parse(drainedAt) - nowMs;
  return inMs <= 0
    ? `${what} can be sent now`
    : `${what} is sent ${about(drainedAt, inMs)}, at ${queue.per_minute} a minute`;
}

function entryAsText(entry: EntryExplanation, nowMs: number): string {
  const {
    reference,
    state,
    reasons,
    calls_ahead: ahead,
    starts_at: startsAt,
    per_minute: perMinute,
  } = entry;
  const inMs = startsAt === null ? 0 : Date.parse(startsAt) - nowMs;
  return plainLines([
    `${reference} is ${state}`,
    ...reasons.map((reason) => `  why     ${sentence(reason)}`),
    ...(ahead === null
      ? []
      : [`  place   ${ahead === 0 ? 'it is the next' : `about ${ahead} are ahead of it`}`]),
    ...(startsAt === null
      ? []
      : [
          `  starts  ${inMs <= 0 ? 'now' : `${about(startsAt, inMs)}, at ${perMinute} orders a minute`}`,
        ]),
  ]);
}

const about = (at: string, inMs: number): string =>
  `in about ${shortDuration(inMs)} (${shortTime(at)})`;
const timeOrDash = (at: string | null): string => (at === null ? '-' : shortTime(at));
