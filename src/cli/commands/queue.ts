import type { Command } from 'commander';
import { isoTime } from '../../core/clock.ts';
import { entryStates } from '../../core/entry/states.ts';
import type { Attention } from '../../store/read/outbox-reader.ts';
import type { Pause } from '../../store/submission/submission.ts';
import { pauseView } from '../../submit/explain-queue.ts';
import { addConfigOptions, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { renderTable, shortDuration, shortTime } from '../output.ts';
import { withReader } from '../with-reader.ts';
import { addQueueExplain } from './queue-explain.ts';
import { addQueueActions } from './queue-actions.ts';

interface StatusOptions extends ConfigOptions {
  readonly json?: boolean;
}

/** How many of the things that wait for a person are shown; the count of all is not limited. */
const shownAttention = 20;

export function addQueue(program: Command, context: CliContext): void {
  const queue = program.command('queue').description('the outbox as a whole');
  addStatus(queue, context);
  addQueueExplain(queue, context);
  addQueueActions(queue, context);
}

function addStatus(queue: Command, context: CliContext): void {
  const status = queue
    .command('status')
    .description('show what is open, what stands still, and what waits for a person')
    .option('--json', 'print JSON');
  addConfigOptions(status).action((options: StatusOptions) =>
    withReader(options, (reader) => {
      const nowMs = context.clock.wallMs();
      const counts = reader.counts();
      const backlog = reader.backlog();
      const pauses = reader.pauses();
      const attention = reader.attention(shownAttention);
      if (options.json) {
        const report = {
          entries: counts,
          open: backlog.open,
          oldest_open_at: backlog.oldestOpenMs === null ? null : isoTime(backlog.oldestOpenMs),
          results_due: backlog.dueDeliveries,
          pauses: pauses.map(pauseView),
          attention: attention.map(attentionAsJson),
        };
        context.stdout.write(`${JSON.stringify(report)}\n`);
        return;
      }
      const age =
        backlog.oldestOpenMs === null ? '' : `, the oldest for ${shortDuration(nowMs - backlog.oldestOpenMs)}`;
      const present = entryStates.filter((state) => counts[state] > 0);
      const sections = [
        `${backlog.open} open${age}; ${backlog.dueDeliveries} results to be written\n`,
        present.length === 0
          ? ''
          : renderTable(
              ['STATE', 'ENTRIES'],
              present.map((state) => [state, String(counts[state])]),
            ),
        pauses.length === 0 ? '' : renderTable(['STANDS STILL', 'SINCE', 'BY', 'REASON'], pauses.map(pauseRow)),
        attention.length === 0
          ? ''
          : renderTable(['WAITS FOR A PERSON', 'SINCE', 'ORDER', 'REASON'], attention.map(attentionRow)),
      ];
      context.stdout.write(sections.filter((section) => section !== '').join('\n'));
    }),
  );
}

function pauseRow(pause: Pause): string[] {
  return [
    pause.scope,
    shortTime(isoTime(pause.sinceMs)),
    pause.openedBy,
    pause.message === '' ? pause.reason : `${pause.reason}: ${pause.message}`,
  ];
}

function attentionRow(attention: Attention): string[] {
  const order = [attention.source, attention.orderId, attention.lineId].filter((part) => part !== null).join('/');
  const reason = [attention.reason, attention.message].filter((part) => part !== null && part !== '').join(': ');
  return [attention.reference ?? attention.kind, shortTime(attention.since), order, reason];
}

function attentionAsJson(attention: Attention): Record<string, unknown> {
  const { kind, reference, source, orderId, lineId, state, reason, message, since } = attention;
  return { kind, reference, source, order_id: orderId, line_id: lineId, state, reason, message, since };
}
