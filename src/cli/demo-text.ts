import { relative } from 'node:path';
import type { Config } from '../config/config.ts';
import type { OutboxReader } from '../store/read/outbox-reader.ts';
import { plainText } from './output.ts';

const here = (path: string): string => relative('.', path) || '.';

/** What a person sees first: that this is the sandbox, where things are, and what to try next. */
export function banner(demo: {
  config: Config;
  sandboxUrl: string;
  adminAddress: string;
  webhookAddress: string | null;
  dropped: readonly string[];
  samplesFolder: string;
}): string {
  const { folder } = demo.config.intake;
  const samples = here(demo.samplesFolder);
  const dropped =
    demo.dropped.length > 0
      ? [`  The ${demo.dropped.length} samples of ${samples}/ were dropped into the inbox for you.`]
      : [`  Try a sample:   cp ${samples}/1-gift-cards.json ${here(folder.inbox)}/`];
  return [
    '',
    '  order-sync DEMO: this is the SANDBOX. Nothing here costs money, no code is worth any.',
    '',
    `  inbox     ${here(folder.inbox)}/      drop .json, .ndjson or .csv order files here`,
    `  results   ${here(demo.config.results.folder)}/    one file for each order`,
    `  rejected  ${here(folder.rejected)}/   what could not be used, and why`,
    `  sandbox   ${demo.sandboxUrl}   the API itself`,
    `  health    http://${demo.adminAddress}/healthz`,
    ...(demo.webhookAddress === null ? [] : [`  orders    http://${demo.webhookAddress}/docs   over HTTP`]),
    '',
    ...dropped,
    '  Look inside:    npx order-sync orders list --config config/sandbox.yaml',
    '  Ctrl-C ends it; what is open is taken up at the next start.',
    '',
    '',
  ].join('\n');
}

/** What became of everything so far, once it has come to rest. */
export function summary(read: OutboxReader, config: Config): string {
  const orders = read.listOrders({ limit: 50 }).toReversed();
  const lines = orders.map((order) => {
    const states = Object.entries(order.states).map(([state, count]) => `${count} ${state}`);
    if (order.rejectedLines > 0) states.push(`${order.rejectedLines} not accepted`);
    return `  ${plainText(order.source)}/${plainText(order.orderId)}`.padEnd(24) + states.join(', ');
  });
  const notes = read
    .attention(20)
    .map((it) =>
      `  ${it.kind}: ${plainText([it.orderId, it.reason, it.message].filter((part) => part !== null).join(', '))}`.slice(
        0,
        200,
      ),
    );
  return [
    '',
    '  All of it has come to rest:',
    ...lines,
    ...(notes.length > 0 ? ['', '  In front of a person:', ...notes] : []),
    '',
    `  The results are in ${here(config.results.folder)}/`,
    '',
    '',
  ].join('\n');
}
