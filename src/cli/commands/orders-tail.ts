import type { Command } from 'commander';
import { shortTime } from '../../core/clock.ts';
import type { OutboxReader } from '../../store/read/outbox-reader.ts';
import { addAnswerOptions, openReaderOf, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { jsonFields, plainText } from '../output.ts';
import { colorStates, terminalOf } from '../terminal.ts';
import { untilStopped } from '../watch.ts';

const everyMs = 1000;
/** So many orders and calls are shown of one moment; how many more there were is said. */
const shownAtOnce = 100;

/** What happened: an order came in, or a call for an entry ended. */
interface Event {
  readonly at: string;
  readonly event: 'order' | 'call' | 'more_orders';
  readonly source: string | null;
  readonly orderId: string | null;
  readonly reference: string | null;
  readonly detail: string;
}

/** Finds what is new since it was asked last; at first, nothing is. */
class NewEvents {
  readonly #read: Pick<OutboxReader, 'listOrders' | 'callLog'>;
  #lastOrder: number;
  readonly #openCalls = new Set<number>();
  #lastCall: number;

  constructor(read: Pick<OutboxReader, 'listOrders' | 'callLog'>) {
    this.#read = read;
    this.#lastOrder = read.listOrders({ limit: 1 })[0]?.id ?? 0;
    const calls = read.callLog({}, { limit: shownAtOnce }).rows;
    this.#lastCall = calls[0]?.id ?? 0;
    for (const { id, closedAt } of calls) if (closedAt === null) this.#openCalls.add(id);
  }

  next(): readonly Event[] {
    return [...this.#orders(), ...this.#calls()].toSorted((a, b) => (a.at < b.at ? -1 : 1));
  }

  #orders(): readonly Event[] {
    const found = this.#read.listOrders({ limit: shownAtOnce }).filter(({ id }) => id > this.#lastOrder);
    const newest = found[0]?.id ?? this.#lastOrder;
    const more = newest - this.#lastOrder - found.length;
    this.#lastOrder = newest;
    const events = found.map(({ receivedAt, source, orderId, lines }): Event => {
      const detail = `came in, ${lines} ${lines === 1 ? 'line' : 'lines'}`;
      return { at: receivedAt, event: 'order', source, orderId, reference: null, detail };
    });
    if (more <= 0) return events;
    const at = found.at(-1)?.receivedAt ?? '';
    const rest = { at, source: null, orderId: null, reference: null, detail: `${more} more orders came in` };
    return [...events, { ...rest, event: 'more_orders' }];
  }

  #calls(): readonly Event[] {
    const found = this.#read.callLog({}, { limit: shownAtOnce }).rows;
    const ended = found.filter(
      ({ id, closedAt }) => closedAt !== null && (id > this.#lastCall || this.#openCalls.has(id)),
    );
    for (const { id, closedAt } of found) {
      if (closedAt !== null) this.#openCalls.delete(id);
      else if (id > this.#lastCall) this.#openCalls.add(id);
    }
    this.#lastCall = found[0]?.id ?? this.#lastCall;
    return ended.map((call): Event => {
      const { closedAt, source, orderId, reference, purpose, number, outcome, httpStatus, errorCode } = call;
      const answer = [outcome, httpStatus, errorCode].filter((it) => it !== null).join(' ');
      return {
        at: closedAt ?? '',
        event: 'call',
        source,
        orderId,
        reference,
        detail: `${purpose} ${number}: ${answer}`,
      };
    });
  }
}

export function addTail(orders: Command, context: CliContext): void {
  const tail = orders
    .command('tail')
    .description('show what happens from now on, until Ctrl-C: orders that come in, calls that end');
  addAnswerOptions(tail).action(async (options: ConfigOptions) => {
    const reader = await openReaderOf(options);
    try {
      const events = new NewEvents(reader);
      context.stderr.write('Showing what happens from now on; Ctrl-C ends it.\n');
      await untilStopped(context, everyMs, () => {
        for (const event of events.next())
          context.stdout.write(options.json ? `${JSON.stringify(jsonFields(event))}\n` : textOf(event));
      });
    } finally {
      reader.close();
    }
  });

  function textOf({ at, source, orderId, reference, detail }: Event): string {
    const order = source === null ? '' : `${source}/${orderId}`;
    const words = [shortTime(at), order, reference ?? '', detail].filter((word) => word !== '');
    return `${colorStates(plainText(words.join('  ')), terminalOf(context))}\n`;
  }
}
