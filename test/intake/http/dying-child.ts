import { pino } from 'pino';
import { WebhookIntake } from '../../../src/intake/http/webhook-intake.ts';
import { SystemClock } from '../../../src/ops/system-clock.ts';
import { openStore } from '../../../src/store/store.ts';
import { limits, token } from './running-intake-config.ts';

/**
 * The HTTP intake in a process that dies: `commit` right after the order is on disk and before the
 * answer, `before` right before the commit, `never` not at all. Prints its address.
 */
const [path = '', dies = 'never'] = process.argv.slice(2);
const store = openStore({
  path,
  init: 'if-missing',
  namespace: { instance: 'test', prefix: 'os', secret: Buffer.alloc(32, 7) },
  upstream: 'sandbox',
  sinks: [{ name: 'folder', sources: null }],
});
const accept = store.intake.acceptRequests.bind(store.intake);
store.intake.acceptRequests = async (requests) => {
  if (dies === 'before') process.kill(process.pid, 'SIGKILL');
  const outcomes = await accept(requests);
  if (dies === 'commit') process.kill(process.pid, 'SIGKILL');
  return outcomes;
};
const intake = await WebhookIntake.start({
  openSkuMap: () => null,
  store,
  clock: new SystemClock(),
  logger: pino({ level: 'silent' }),
  version: '0.0.0',
  onAccepted: () => undefined,
  shops: { formats: [], handlerFor: () => null, details: () => null },
  config: {
    listen: { host: '127.0.0.1', port: 0 },
    skuMap: null,
    tokens: [
      { name: 'anybody', secrets: [token], scopes: ['post'], sources: ['shop1'], currency: null },
    ],
    standardWebhooks: [],
    limits,
  },
});
process.stdout.write(`${intake.address}\n`);
