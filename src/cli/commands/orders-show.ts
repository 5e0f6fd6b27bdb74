import { Argument, type Command } from 'commander';
import { errorText, eventText, callTexts, stateText, adviceAbout } from '../../admin/entry-text.ts';
import { isoTime, shortTime } from '../../core/clock.ts';
import { waitTexts } from '../../core/operator/queue-explanation.ts';
import { allowedActions, type EntryActionName } from '../../core/entry/states.ts';
import type { Unit } from '../../core/answers/order-answer.ts';
import { labelledFields } from '../../core/answers/unit-fields.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { productUnknownLimit } from '../../buying/queue/exposure.ts';
import type { OutboxReader } from '../../store/read/outbox-reader.ts';
import type {
  AttemptDetail,
  DeliveryDetail,
  EntryDetail,
  OrderDetail,
} from '../../store/read/order-detail.ts';
import { largestPage, type Page, type PageRequest } from '../../store/read/page.ts';
import type { TimelineEvent } from '../../store/read/timeline.ts';
import type { KeptAnswer } from '../../store/entries/kept-answers.ts';
import {
  addAnswerOptions,
  configFrom,
  configWithoutSecrets,
  withReader,
  type ConfigOptions,
} from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { jsonFields, plainLines, writeAnswer } from '../output.ts';
import { renderTable } from '../table.ts';
import { cliActor, sendCommand } from '../worker-client.ts';

interface ShowOptions extends ConfigOptions {
  readonly source?: string;
  readonly timeline?: boolean;
  readonly answers?: boolean;
  readonly reveal?: boolean;
  readonly reason?: string;
}

type RevealedUnits = Readonly<Record<string, readonly Unit[]>>;

export function addShow(orders: Command, context: CliContext): void {
  const show = orders
    .command('show')
    .description('show one order: the request, every attempt, and the possible actions')
    .addArgument(new Argument('<order>', 'an order id or a reference'))
    .option('--source <source>', 'the shop, if several shops have an order with this id')
    .option('--timeline', 'show all events by time, instead of the state')
    .option(
      '--answers',
      'also show the last answers of the API, with letters and digits masked as A and 9',
    )
    .option(
      '--reveal',
      'also show the delivered codes; the audit log records who saw them, and why',
    )
    .option('--reason <text>', 'why the codes are shown (required with --reveal)');
  addAnswerOptions(show).action(async (asked: string, options: ShowOptions) => {
    const { order, timeline, answers } = await withReader(options, (reader) => {
      const { source } = options;
      const found =
        reader.showEntry(asked) ??
        reader.showOrder(source ?? null, asked) ??
        showFound(reader, asked, source);
      if (found !== null) {
        const read = (page: PageRequest) => reader.timeline(found.id, page);
        const ids = found.entries.map(({ reference }) => reference);
        const kept = options.answers === true ? reader.keptAnswers(ids) : null;
        return {
          order: found,
          timeline: options.timeline === true ? wholeTimeline(read) : null,
          answers: kept,
        };
      }
      throw new OrderSyncError('NOT_FOUND', `No order or reference "${asked}" is in the outbox`, {
        hint: 'look for the order with `order-sync orders list --search`; a line that was not accepted is in `order-sync queue status`',
      });
    });
    const units = options.reveal === true ? await reveal(order, options, context) : null;
    const shown =
      timeline === null
        ? orderAsText(order, await unknownLimitOf(order, options))
        : timelineText(timeline);
    const text = answers === null ? shown : `${shown}\n${answersAsText(answers)}`;
    const json = {
      ...orderAsJson(order),
      timeline: timeline?.events.map(jsonFields),
      more: timeline?.more,
      answers: answers?.map(answerAsJson),
      units: units ?? undefined,
    };
    writeAnswer(context, options, json, units === null ? text : `${text}\n${unitsAsText(units)}`);
  });
}

/** By whatever else the search finds it, for example the number of the shop. */
function showFound(
  reader: OutboxReader,
  search: string,
  source: string | undefined,
): OrderDetail | null {
  const [found, ...others] = reader.listOrders({ search, source, limit: 10 });
  if (found === undefined || others.length === 0)
    return found === undefined ? null : reader.showOrder(found.source, found.orderId);
  const ids = [found, ...others].map((order) => `${order.orderId} of ${order.source}`);
  throw new OrderSyncError('USAGE', `"${search}" finds ${ids.join(', ')}`, {
    hint: 'name one of them by its id',
  });
}

function answerAsJson({ body, ...answer }: KeptAnswer): Record<string, unknown> {
  const value: unknown = JSON.parse(body);
  return { ...jsonFields(answer), body: value };
}

function answersAsText(answers: readonly KeptAnswer[]): string {
  const lines = answers.flatMap(({ reference, kind, number, httpStatus, at, body }) => [
    `Answer to call ${number} of ${reference} (${kind}), HTTP ${httpStatus}, ${shortTime(at)}`,
    ...JSON.stringify(JSON.parse(body), null, 2)
      .split('\n')
      .map((line) => `  ${line}`),
  ]);
  return plainLines(lines);
}

/**
 * So many unknown outcomes hold up a product. The configuration is read only for an order that may
 * be held up so.
 */
async function unknownLimitOf({ entries }: OrderDetail, options: ShowOptions): Promise<number> {
  if (entries.every(({ unknownOfProduct }) => unknownOfProduct === 0)) return 1;
  const { config } = await configWithoutSecrets(options);
  return productUnknownLimit(config.submit.maxUnknownOutcomes);
}

/**
 * The units of each entry that has some. The worker opens them, and records that this user read
 * them.
 */
async function reveal(
  { entries }: OrderDetail,
  options: ShowOptions,
  context: CliContext,
): Promise<RevealedUnits> {
  const { reason } = options;
  if (reason === undefined) {
    throw new OrderSyncError('USAGE', '--reveal needs a reason', {
      hint: 'say why, for whoever reads the audit log later: --reason "the customer lost the mail"',
    });
  }
  const { config } = await configFrom(options);
  const revealed: [string, RevealedUnits[string]][] = [];
  for (const { reference } of entries.filter(
    ({ unitCount, shreddedAt }) => unitCount > 0 && shreddedAt === null,
  )) {
    const command = { action: 'reveal', reference, reason, actor: cliActor() } as const;
    revealed.push([reference, (await sendCommand(config, command, 'revealed', context)).units]);
  }
  return Object.fromEntries(revealed);
}

function unitsAsText(revealed: RevealedUnits): string {
  const rows = Object.entries(revealed).flatMap(([reference, units]) =>
    units.map((unit) => {
      const fields = labelledFields(unit).map(({ label, value }) => `${label}: ${value}`);
      return `  ${[reference, ...fields].join('  ')}`;
    }),
  );
  return `Delivered\n${plainLines(rows)}`;
}

function orderAsJson(order: OrderDetail): Record<string, unknown> {
  return {
    ...jsonFields(order),
    entries: order.entries.map((entry) => ({
      ...jsonFields(entry),
      client_action: adviceAbout(entry),
      allowed_actions: allowedActions(entry),
      attempts: entry.attempts.map(jsonFields),
    })),
    rejections: order.rejections.map(({ createdAtMs, ...rejection }) => {
      return { ...jsonFields(rejection), created_at: isoTime(createdAtMs) };
    }),
    deliveries: order.deliveries.map(jsonFields),
    esim_orders: order.esimOrders.map(jsonFields),
  };
}

/**
 * One order for people: its results, each entry with its evidence, lines that were not accepted,
 * decisions.
 */
function orderAsText(order: OrderDetail, unknownLimit: number): string {
  const { orderId, source, receivedAt, updatedAt, entries, rejections, deliveries, audit } = order;
  const head = [
    `Order ${orderId} of ${source}`,
    `received ${shortTime(receivedAt)}, changed ${shortTime(updatedAt)}`,
  ];
  const refused = rejections.map(({ lineNumber, lineId, code, field, rule, value }) => {
    const places = [lineNumber && `line ${lineNumber} of the file`, lineId && `line_id ${lineId}`];
    return `  ${places.filter(Boolean).join(', ')}: ${field ?? 'line'} ${rule}${value === null ? '' : `, got ${value}`} (${code})`;
  });
  const decisions = audit.map(
    ({ at, actor, action, subject, reason }) =>
      `  ${shortTime(at)}  ${actor}  ${action} ${subject}: ${reason}`,
  );
  const sections = [
    plainLines([...head, ...deliveries.map(deliveryText)]),
    ...entries.map((entry) => entryAsText(entry, unknownLimit)),
    order.esimOrders.length === 0
      ? ''
      : plainLines([
          'Other orders for its eSIMs',
          ...order.esimOrders.map(
            (it) =>
              `  ${it.iccid}: ${it.operation} ${it.reference} of ${it.source}/${it.orderId}, ${it.state}`,
          ),
        ]),
    refused.length === 0 ? '' : plainLines(['Not accepted', ...refused]),
    decisions.length === 0 ? '' : plainLines(['Decided', ...decisions]),
  ];
  return sections.filter(Boolean).join('\n');
}

function deliveryText({ sink, done, doneAt, lastError, givenUpAt }: DeliveryDetail): string {
  if (givenUpAt !== null)
    return `result (${sink}): given up ${shortTime(givenUpAt)}: ${lastError ?? ''}`;
  if (lastError !== null) return `result (${sink}): failed, will be retried: ${lastError}`;
  return `result (${sink}): ${done && doneAt !== null ? `written ${shortTime(doneAt)}` : 'due'}`;
}

function entryAsText(entry: EntryDetail, unknownLimit: number): string {
  const { reference, state, reviewReason, nextAttemptAt, nextStep, pausedBy } = entry;
  const actions = allowedActions(entry);
  const facts: readonly (readonly [string, string | null])[] = [
    ['asked', entry.asked],
    ['state', stateText(entry)],
    [state === 'held' ? 'held' : 'review', reviewReason],
    ['next', nextAttemptAt === null ? null : `${nextStep}, due ${shortTime(nextAttemptAt)}`],
    ['waits', waitTexts(entry).join('; ')],
    ...pausedBy.map(
      (pause) =>
        ['paused', `${pause.scope} since ${shortTime(pause.since)}: ${pause.reason}`] as const,
    ),
    ['product', productText(entry, unknownLimit)],
    ['supplier', entry.orderNumber === null ? null : supplierText(entry)],
    ['error', state === 'held' ? null : errorText(entry)],
    ['what to do', adviceAbout(entry)],
    ['allowed', actions.length === 0 ? nothingAllowed(entry) : actions.join(', ')],
    ...actions.map((action) => ['', commandFor(action, entry)] as const),
  ];
  const lines = facts.flatMap(([name, text]) => (text ? [`  ${name.padEnd(10)}  ${text}`] : []));
  const title = `${reference}  line ${entry.lineId}  ${entry.operation}`;
  return plainLines([title, ...lines]) + attemptsAsText(entry.attempts);
}

/** Whether unknown outcomes hold up the product of an entry that is open. */
function productText(
  { product, state, unknownOfProduct: count }: EntryDetail,
  unknownLimit: number,
): string | null {
  if (product === null || count < unknownLimit) return null;
  const until = 'nothing new of this product is bought until one outcome is known';
  if (state === 'unknown')
    return `${product} has ${count} unknown outcomes, this one among them: ${until}`;
  return state === 'pending' || state === 'waiting'
    ? `${product} has ${count} unknown outcomes: ${until}`
    : null;
}

function nothingAllowed(entry: EntryDetail): string {
  if (entry.state === 'sending') return 'no action: a call is in flight';
  return entry.replaced ? 'nothing: another reference replaces it' : 'nothing: it is final';
}

function commandFor(action: EntryActionName, { reference, state }: EntryDetail): string {
  const special: Partial<Record<EntryActionName, string>> = {
    resolve:
      state === 'fulfilled' ? ' --as fulfilled --units FILE' : ' --as fulfilled|rejected|refunded',
    reorder: ` --confirm ${reference}`,
  };
  return `order-sync orders ${action} ${reference}${special[action] ?? ''} --reason "…"`;
}

function supplierText({ orderNumber, cost, currency, unitCount, shreddedAt }: EntryDetail): string {
  const price = cost === null ? '' : `, ${cost} ${currency ?? ''}`;
  const shredded = shreddedAt === null ? '' : `, shredded ${shortTime(shreddedAt)}`;
  return `order ${orderNumber}${price}, ${unitCount} ${unitCount === 1 ? 'unit' : 'units'}${shredded}`;
}

function attemptsAsText(attempts: readonly AttemptDetail[]): string {
  if (attempts.length === 0) return '  attempts    none: it was never sent\n';
  const rows = attempts.map((attempt) => {
    const { outcome, httpStatus, took, answer } = callTexts(attempt);
    const { number, openedAt, purpose, keyName } = attempt;
    return [`  ${number}`, openedAt, purpose, keyName, outcome, httpStatus, took, answer];
  });
  return renderTable(
    ['  #', 'OPENED', 'PURPOSE', 'KEY', 'OUTCOME', 'HTTP', 'TOOK', 'MESSAGE'],
    rows,
  );
}

/** So many events are shown; an order of many lines may have more. */
const mostShown = 10_000;

function wholeTimeline(read: (page: PageRequest) => Page<TimelineEvent>) {
  const events: TimelineEvent[] = [];
  let after: string | undefined;
  do {
    const page: Page<TimelineEvent> = read({ limit: largestPage, after });
    events.push(...page.rows);
    after = page.next ?? undefined;
  } while (after !== undefined && events.length < mostShown);
  return { events, more: after !== undefined };
}

function timelineText({ events, more }: ReturnType<typeof wholeTimeline>): string {
  const rows = events.map((event) => [
    shortTime(event.at),
    event.kind,
    event.reference ?? event.lineId ?? '',
    [event.code, event.subject === event.reference ? null : event.subject]
      .filter((it) => it !== null)
      .join(' '),
    [eventText(event), event.message].filter(Boolean).join(': '),
  ]);
  const table = renderTable(['AT', 'WHAT', 'ENTRY', 'WHICH', 'DETAIL'], rows);
  return more ? `${table}There are more than these ${events.length} events.\n` : table;
}
