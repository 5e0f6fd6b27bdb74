import { Argument, type Command } from 'commander';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { addConfigOptions, configFrom, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { plainText, renderTable, shortDuration, shortTime } from '../plain-text.ts';
import {
  drainedAt,
  explainEntry,
  generalReasons,
  limitUses,
  type EntryExplanation,
  type Situation,
} from '../queue-explanation.ts';
import { withReader } from '../with-reader.ts';

export function addExplain(queue: Command, context: CliContext): void {
  const explain = queue
    .command('explain')
    .description('say why an entry is not sent yet and when it will be, or when all is sent')
    .addArgument(new Argument('[reference]', 'an entry; without it, the queue as a whole'))
    .option('--json', 'print JSON');
  addConfigOptions(explain).action((reference: string | undefined, options: ConfigOptions & { json?: boolean }) =>
    withReader(options, (reader) => {
      const { clock } = context;
      const nowMs = clock.wallMs();
      const situation: Situation = {
        nowMs,
        nowMono: clock.monoMs(),
        bootId: clock.bootId ?? null,
        config: configFrom(options).config,
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
    }),
  );
}

function wholeAsJson(situation: Situation): Record<string, unknown> {
  return {
    to_send: situation.facts.toSend.count,
    in_doubt: situation.facts.inDoubt,
    reasons: generalReasons(situation),
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
  const drained = drainedAt(situation);
  const end =
    facts.toSend.count === 0
      ? 'nothing is to be sent'
      : drained === null
        ? 'when all is sent cannot be foreseen'
        : Date.parse(drained) <= nowMs
          ? 'all of it can be sent now'
          : `all is sent by ${shortTime(drained)}, in ${shortDuration(Date.parse(drained) - nowMs)}, at the earliest`;
  const rows = limitUses(situation).map((it) => [it.limit, `${it.used} of ${it.capacity}`, shortTime(it.nextFreeAt)]);
  return [
    `${facts.toSend.count} to send, ${facts.inDoubt} in doubt; ${end}\n`,
    ...generalReasons(situation).map((reason) => `nothing new is sent: ${plainText(reason)}\n`),
    '\n',
    renderTable(['LIMIT', 'USED', 'NEXT SLOT'], rows),
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
