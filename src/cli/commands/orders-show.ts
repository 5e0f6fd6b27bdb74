import { Argument, type Command } from 'commander';
import { isoTime, shortTime } from '../../core/clock.ts';
import { recheckText } from '../../core/operator/queue-explanation.ts';
import { clientActionFor } from '../../core/decision/wholesale-errors.ts';
import { isMaybeBought } from '../../core/entry/may-be-bought.ts';
import { allowedActions, commandOf, type EntryActionName } from '../../core/entry/states.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { productUnknownLimit } from '../../core/scopes/exposure.ts';
import type { Rejection } from '../../store/intake/rejections.ts';
import type { AttemptDetail, EntryDetail, OrderDetail } from '../../store/read/order-detail.ts';
import { largestPage, type Page, type PageRequest } from '../../store/read/page.ts';
import {
  addAnswerOptions,
  configFrom,
  configWithoutSecrets,
  withReader,
  type ConfigOptions,
} from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { jsonFields, plainLines, plainText, writeAnswer } from '../output.ts';
import { renderTable } from '../table.ts';
import { cliActor, sendCommand } from '../worker-client.ts';
import type { TimelineEvent } from '../../store/read/timeline.ts';

export function addShow(orders: Command, context: CliContext): void {
  const show = orders
    .command('show')
    .description('show one order: what was asked, every attempt, and what may be done')
    .addArgument(new Argument('<order>', 'an order id or a reference'))
    .option('--source <source>', 'the shop, when several have an order of that id')
    .option('--timeline', 'show everything that happened, in the order of time, instead of the state')
    .option('--reveal', 'show the delivered codes, too; the audit log says who did, and why')
    .option('--reason <text>', 'why the codes are shown');
  addAnswerOptions(show).action(async (asked: string, options: ShowOptions) => {
    const { order, timeline } = await withReader(options, (reader) => {
      const found = reader.showEntry(asked) ?? reader.showOrder(options.source ?? null, asked);
      if (found !== null) {
        const read = (page: PageRequest) => reader.timeline(found.id, page);
        return { order: found, timeline: options.timeline === true ? wholeTimeline(read) : null };
      }
      throw new OrderSyncError('NOT_FOUND', `No order or reference "${asked}" is in the outbox`, {
        hint: 'look for it with `order-sync orders list --search`; a line that was not accepted is in `order-sync queue status`',
      });
    });
    const units = options.reveal === true ? await reveal(order, options, context) : null;
    const text = timeline === null ? orderAsText(order, await unknownLimitOf(order, options)) : timelineText(timeline);
    const events = timeline === null ? {} : { timeline: timeline.events.map(jsonFields), more: timeline.more };
    const json = { ...orderAsJson(order), ...events, ...(units === null ? {} : { units: Object.fromEntries(units) }) };
    writeAnswer(context.stdout, options.json, json, units === null ? text : `${text}\n${unitsAsText(units)}`);
  });
}

interface ShowOptions extends ConfigOptions {
  readonly source?: string;
  readonly timeline?: boolean;
  readonly reveal?: boolean;
  readonly reason?: string;
}

type RevealedUnits = ReadonlyMap<string, readonly Readonly<Record<string, string>>[]>;

/** So many unknown outcomes hold up a product. The configuration is read only for an order that may be held up so. */
async function unknownLimitOf({ entries }: OrderDetail, options: ShowOptions): Promise<number> {
  if (entries.every(({ unknownOfProduct }) => unknownOfProduct === 0)) return 1;
  const { config } = await configWithoutSecrets(options);
  return productUnknownLimit(config.submit.maxUnknownOutcomes);
}

/** The units of each entry that has some. The worker opens them, and records that this user read them. */
async function reveal({ entries }: OrderDetail, options: ShowOptions, context: CliContext): Promise<RevealedUnits> {
  const { reason } = options;
  if (reason === undefined) {
    throw new OrderSyncError('USAGE', '--reveal needs a reason', {
      hint: 'say why, for whoever reads the audit log later: --reason "the customer lost the mail"',
    });
  }
  const { config } = await configFrom(options);
  const revealed = new Map<string, readonly Readonly<Record<string, string>>[]>();
  for (const { reference } of entries.filter(({ unitCount, shreddedAt }) => unitCount > 0 && shreddedAt === null)) {
    const done = await sendCommand(config, { action: 'reveal', reference, reason, actor: cliActor() }, context);
    if (done.kind === 'revealed') revealed.set(reference, done.units);
  }
  return revealed;
}

function unitsAsText(revealed: RevealedUnits): string {
  const rows = [...revealed].flatMap(([reference, units]) =>
    units.map(
      (unit) =>
        `  ${reference}  ${Object.entries(unit)
          .map(([name, value]) => `${name} ${value}`)
          .join('  ')}`,
    ),
  );
  return `Delivered\n${plainLines(rows)}`;
}

function orderAsJson(order: OrderDetail): Record<string, unknown> {
  return {
    ...jsonFields(order),
    entries: order.entries.map(entryAsJson),
    rejections: order.rejections.map(rejectionAsJson),
    deliveries: order.deliveries.map(jsonFields),
  };
}

function entryAsJson(entry: EntryDetail): Record<string, unknown> {
  return {
    ...jsonFields(entry),
    client_action: actionFor(entry),
    allowed_actions: allowedActions(entry),
    attempts: entry.attempts.map(jsonFields),
  };
}

function rejectionAsJson({ createdAtMs, ...rejection }: Rejection): Record<string, unknown> {
  return { ...jsonFields(rejection), created_at: isoTime(createdAtMs) };
}

/** The action that the code of the last call asks for. A held entry is not called for: why it is held says what to do. */
function actionFor({ state, errorCode }: EntryDetail): string | null {
  return errorCode === null || state === 'held' ? null : clientActionFor(errorCode);
}

/** One order for people: its results, each entry with its evidence, lines that were not accepted, decisions. */
function orderAsText(order: OrderDetail, unknownLimit: number): string {
  const head = [
    `Order ${order.orderId} of ${order.source}`,
    `received ${shortTime(order.receivedAt)}, changed ${shortTime(order.updatedAt)}`,
  ];
  const results = order.deliveries.map(({ sink, done, doneAt, lastError, givenUpAt }) => {
    if (givenUpAt !== null) return `result (${sink}): given up ${shortTime(givenUpAt)}: ${lastError ?? ''}`;
    if (lastError !== null) return `result (${sink}): failed, will be retried: ${lastError}`;
    return `result (${sink}): ${done && doneAt !== null ? `written ${shortTime(doneAt)}` : 'due'}`;
  });
  const entries = order.entries.map((entry) => entryAsText(entry, unknownLimit));
  const rejections = order.rejections.map(
    ({ lineNumber, lineId, code, field, rule, value }) =>
      `  ${[lineNumber === null ? '' : `line ${lineNumber} of the file`, lineId === null ? '' : `line_id ${lineId}`]
        .filter((part) => part !== '')
        .join(', ')}: ${field ?? 'line'} ${rule}${value === null ? '' : `, got ${value}`} (${code})`,
  );
  const decisions = order.audit.map(
    ({ at, actor, action, subject, reason }) => `  ${shortTime(at)}  ${actor}  ${action} ${subject}: ${reason}`,
  );
  const sections = [
    [...head, ...results].map(plainText).join('\n'),
    ...entries,
    ...(rejections.length === 0 ? [] : [['Not accepted', ...rejections].map(plainText).join('\n')]),
    ...(decisions.length === 0 ? [] : [['Decided', ...decisions].map(plainText).join('\n')]),
  ];
  return `${sections.join('\n\n')}\n`;
}

function entryAsText(entry: EntryDetail, unknownLimit: number): string {
  const action = actionFor(entry);
  const actions = allowedActions(entry);
  const error = [entry.errorCode, entry.errorMessage].filter((part) => part !== null).join(': ');
  const facts: readonly (readonly [string, string | null])[] = [
    ['asked', entry.asked],
    ['state', stateText(entry)],
    [entry.state === 'held' ? 'held' : 'review', entry.reviewReason],
    ['next', entry.nextAttemptAt === null ? null : `${entry.nextStep}, due ${shortTime(entry.nextAttemptAt)}`],
    ['waits', entry.awaitsRecheck === null ? null : recheckText(entry.awaitsRecheck)],
    ...entry.pausedBy.map(({ scope, reason, since }): [string, string] => [
      'paused',
      `${scope} since ${shortTime(since)}: ${reason}`,
    ]),
    ['product', productText(entry, unknownLimit)],
    ['supplier', entry.orderNumber === null ? null : supplierText(entry)],
    ['error', error === '' || entry.state === 'held' ? null : error],
    ['what to do', action],
    ['allowed', actions.length === 0 ? nothingAllowed(entry) : actions.map(commandOf).join(', ')],
    ...actions.map((it): [string, string] => ['', commandFor(it, entry)]),
  ];
  const lines = facts.flatMap(([name, text]) => (text === null ? [] : [`  ${name.padEnd(10)}  ${plainText(text)}`]));
  const title = plainText(`${entry.reference}  line ${entry.lineId}  ${entry.operation}`);
  return [title, ...lines, attemptsAsText(entry.attempts)].join('\n');
}

function stateText(entry: EntryDetail): string {
  const { state, outcomeUnknown, unitsMissing } = entry;
  if (unitsMissing > 0) return `${state} (${unitsMissing} of its units are not in the outbox: needs_manual_delivery)`;
  if (outcomeUnknown) return `${state} (an attempt may have been processed)`;
  return isMaybeBought(entry) ? `${state} (may have been bought)` : state;
}

/** Whether unknown outcomes hold up the product of an entry that is open. */
function productText({ product, state, unknownOfProduct: count }: EntryDetail, unknownLimit: number): string | null {
  if (product === null || count < unknownLimit) return null;
  const until = 'nothing new of it is bought until one of them is known';
  if (state === 'unknown') return `${product} has ${count} unknown outcomes, this one among them: ${until}`;
  return state === 'pending' || state === 'waiting' ? `${product} has ${count} unknown outcomes: ${until}` : null;
}

function nothingAllowed(entry: EntryDetail): string {
  if (entry.state === 'sending') return 'nothing: its call is in flight';
  return entry.replaced ? 'nothing: another reference replaces it' : 'nothing: it is final';
}

/** The command line for an action. */
function commandFor(action: EntryActionName, { reference, state }: EntryDetail): string {
  const special: Partial<Record<EntryActionName, string>> = {
    resolve: state === 'fulfilled' ? ' --as fulfilled --units FILE' : ' --as fulfilled|rejected|refunded',
    decide_change: ' --same|--another',
    reorder: ` --confirm ${reference}`,
  };
  const command = action === 'decide_change' ? 'resolve' : action;
  return `order-sync orders ${command} ${reference}${special[action] ?? ''} --reason "…"`;
}

function supplierText(entry: EntryDetail): string {
  const cost = entry.cost === null ? '' : `, ${entry.cost} ${entry.currency ?? ''}`;
  return `order ${entry.orderNumber ?? ''}${cost}, ${entry.unitCount} ${entry.unitCount === 1 ? 'unit' : 'units'}${entry.shreddedAt === null ? '' : `, shredded ${shortTime(entry.shreddedAt)}`}`;
}

function attemptsAsText(attempts: readonly AttemptDetail[]): string {
  if (attempts.length === 0) return '  attempts    none: it was never sent';
  const rows = attempts.map((attempt) => [
    String(attempt.number),
    attempt.openedAt,
    attempt.purpose,
    attempt.keyName,
    attempt.closedAt === null ? 'open' : `${attempt.outcome ?? ''}${attempt.sent === false ? ' (never left)' : ''}`,
    attempt.httpStatus === null ? '-' : String(attempt.httpStatus),
    attempt.durationMs === null ? '-' : `${attempt.durationMs} ms`,
    [attempt.errorCode, attempt.errorMessage].filter((part) => part !== null && part !== '').join(': '),
  ]);
  return renderTable(
    ['  #', 'OPENED', 'PURPOSE', 'KEY', 'OUTCOME', 'HTTP', 'TOOK', 'MESSAGE'],
    rows.map(indented),
  ).trimEnd();
}

function indented(row: readonly string[]): string[] {
  return row.map((cell, index) => (index === 0 ? `  ${cell}` : cell));
}

/** So many events are shown; an order of many lines may have more. */
const mostShown = 10_000;

interface Timeline {
  readonly events: readonly TimelineEvent[];
  readonly more: boolean;
}

/** The first events of an order, read in pages. */
function wholeTimeline(read: (page: PageRequest) => Page<TimelineEvent>): Timeline {
  const events: TimelineEvent[] = [];
  let after: string | undefined;
  do {
    const page: Page<TimelineEvent> = read({ limit: largestPage, after });
    events.push(...page.rows);
    after = page.next ?? undefined;
  } while (after !== undefined && events.length < mostShown);
  return { events, more: after !== undefined };
}

function timelineText({ events, more }: Timeline): string {
  const rows = events.map((event) => [
    shortTime(event.at),
    event.number === null ? event.kind : `${event.kind} ${event.number}`,
    event.reference ?? event.lineId ?? '',
    [event.code, event.subject === event.reference ? null : event.subject].filter((it) => it !== null).join(' '),
    detailOf(event),
  ]);
  const table = renderTable(['AT', 'WHAT', 'ENTRY', 'WHICH', 'DETAIL'], rows);
  return more ? `${table}There are more than these ${events.length} events.\n` : table;
}

function detailOf({ actor, keyName, httpStatus, durationMs, errorCode, message }: TimelineEvent): string {
  const said = [errorCode, message].filter((it) => it !== null && it !== '').join(': ');
  const facts = [
    actor,
    keyName === null ? null : `key ${keyName}`,
    httpStatus === null ? null : `HTTP ${httpStatus}`,
    durationMs === null ? null : `${durationMs} ms`,
    said === '' ? null : said,
  ];
  return facts.filter((fact) => fact !== null).join(', ');
}
