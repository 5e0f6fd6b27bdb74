import { Argument, type Command } from 'commander';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { addConfigOptions, configFrom, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { plainText, renderTable, shortDuration, shortTime } from '../plain-text.ts';
import {
  drainedAt,
  explainEntry,
  generalReasons,
  movingDrainedAt,
  slowingReasons,
  type EntryExplanation,
} from '../queue-explanation.ts';
import { keyViews, limitUses, stoppedBy, type Situation } from '../queue-situation.ts';
import { withReader } from '../with-reader.ts';
import { workerAnswers } from '../worker-address.ts';

export function addExplain(queue: Command, context: CliContext): void {
  const explain = queue
    .command('explain')
    .description('say why an entry is not sent yet and when it will be, or when all is sent')
    .addArgument(new Argument('[reference]', 'an entry; without it, the queue as a whole'))
    .option('--json', 'print JSON');
  addConfigOptions(explain).action(
    async (reference: string | undefined, options: ConfigOptions & { json?: boolean }) => {
      const { config } = configFrom(options);
      const isAlive = await workerAnswers(config.dataDir);
      withReader(options, (reader) => {
        const { clock } = context;
        const nowMs = clock.wallMs();
        const situation: Situation = {
          nowMs,
          nowMono: clock.monoMs(),
          bootId: clock.bootId ?? null,
          config,
          workerAnswers: isAlive,
          facts: reader.queueFacts(nowMs),
          pauses: reader.pauses(),
        };
        if (reference === undefined) {
          const whole = wholeAsJson(situation);
          context.stdout.write(options.json ? `${JSON.stringify(whole)}\n` : wholeAsText(situation));
          return;
        }
        const entry = reader.queuedEntry(reference);
        if (entry === null) {
          throw new OrderSyncError('NOT_FOUND', `No reference "${reference}" is in the outbox`, {
            hint: 'look for it with `order-sync orders list --search`',
          });
        }
        const explanation = explainEntry(entry, situation);
        context.stdout.write(
          options.json ? `${JSON.stringify(entryAsJson(explanation))}\n` : entryAsText(explanation, nowMs),
        );
      });
    },
  );
}

function wholeAsJson(situation: Situation): Record<string, unknown> {
  const { toSend, outcomeUnknown } = situation.facts;
  return {
    to_send: toSend.count,
    paused_scopes: toSend.standing,
    outcome_unknown: outcomeUnknown,
    reasons: [...generalReasons(situation), ...slowingReasons(situation)],
    keys: keyViews(situation).map(({ name, state, since, until, orders, requests }) => ({
      name,
      state,
      since,
      until,
      orders_used: orders,
      requests_used: requests,
    })),
    limits: limitUses(situation).map(({ limit, used, capacity, nextFreeAt }) => ({
      limit,
      used,
      capacity,
      next_free_at: nextFreeAt,
    })),
    drained_at: drainedAt(situation),
  };
}

function wholeAsText(situation: Situation): string {
  const { nowMs, facts } = situation;
  const { count, standing } = facts.toSend;
  const drained = movingDrainedAt(situation);
  const moving = standing === 0 ? 'all of it' : 'the rest';
  const end =
    count === 0
      ? 'nothing is to be sent'
      : drained === null
        ? `when ${count === standing ? 'it' : moving} is sent cannot be foreseen`
        : Date.parse(drained) <= nowMs
          ? `${moving} can be sent now`
          : `${moving} is sent by ${shortTime(drained)}, in ${shortDuration(Date.parse(drained) - nowMs)}, at the earliest`;
  const general = generalReasons(situation);
  const stopped = situation.pauses.map(stoppedBy);
  const still = standing === 0 ? '' : `, of which ${standing} stand still`;
  const limits = limitUses(situation).map((it) => [
    it.limit,
    `${it.used} of ${it.capacity}`,
    it.nextFreeAt === null ? '-' : shortTime(it.nextFreeAt),
  ]);
  const keys = keyViews(situation).map((key) => [
    key.name,
    key.state.replace('_', ' '),
    key.until === null ? '-' : shortTime(key.until),
    String(key.orders),
    String(key.requests),
  ]);
  return [
    `${count} to send${still}, ${facts.outcomeUnknown} in doubt; ${end}\n`,
    ...general.map((reason) => `nothing new is sent: ${plainText(reason)}\n`),
    ...stopped.filter((reason) => !general.includes(reason)).map((reason) => `${plainText(reason)}\n`),
    ...slowingReasons(situation).map((reason) => `note: ${plainText(reason)}\n`),
    '\n',
    renderTable(['LIMIT', 'USED', 'NEXT SLOT'], limits),
    '\n',
    renderTable(['KEY', 'STATE', 'UNTIL', 'ORDERS', 'REQUESTS'], keys),
  ].join('');
}

function entryAsJson({ reference, state, reasons, callsAhead, startsAt }: EntryExplanation): Record<string, unknown> {
  return { reference, state, reasons, calls_ahead: callsAhead, starts_at: startsAt };
}

function entryAsText({ reference, state, reasons, callsAhead, startsAt }: EntryExplanation, nowMs: number): string {
  const wait = startsAt === null ? 0 : Date.parse(startsAt) - nowMs;
  const lines = [
    `${reference} is ${state}`,
    ...reasons.map((reason) => `  why     ${reason}`),
    ...(callsAhead === null ? [] : [`  place   ${callsAhead + 1} (at most ${callsAhead} calls come before it)`]),
    ...(startsAt === null
      ? []
      : [`  starts  ${wait <= 0 ? 'now' : `${shortTime(startsAt)}, in ${shortDuration(wait)}, at the earliest`}`]),
  ];
  return lines.map((line) => `${plainText(line)}\n`).join('');
}
