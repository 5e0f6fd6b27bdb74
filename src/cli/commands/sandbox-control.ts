import { Argument, type Command, InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { shortTime } from '../../core/clock.ts';
import type { CliContext } from '../context.ts';
import { plainText, writeAnswer } from '../output.ts';
import { renderTable } from '../table.ts';
import { addSandboxOptions, askSandbox, type SandboxClientOptions } from '../sandbox-client.ts';
import { sandboxEvents } from '../sandbox-events.ts';

/** Adds the commands that a running sandbox performs. */
export function addSandboxControl(sandbox: Command, context: CliContext): void {
  addLogs(sandbox, context);
  addTrigger(sandbox, context);
}

const requestSchema = z.object({
  id: z.string(),
  at: z.string(),
  account: z.string().nullable(),
  key: z.string().nullable(),
  address: z.string().nullable(),
  operation: z.string(),
  method: z.string().nullable(),
  path: z.string().nullable(),
  request: z.string().nullable(),
  response: z.string().nullable(),
  status: z.int(),
  code: z.string().nullable(),
  reference: z.string().nullable(),
  order_number: z.string().nullable(),
  fault: z.string().nullable(),
});
type Request = z.infer<typeof requestSchema>;
const pageSchema = z.object({ requests: z.array(requestSchema), next_before: z.string().nullable() });

interface LogsOptions extends SandboxClientOptions {
  readonly search?: string;
  readonly account?: string;
  readonly failed?: boolean;
  readonly limit?: string;
  readonly before?: string;
}

function addLogs(sandbox: Command, context: CliContext): void {
  const command = sandbox
    .command('logs')
    .description('show what programs sent to the running sandbox and what it answered, the newest first')
    .addArgument(new Argument('[id]', 'the Request-Id of an answer: shows this request with its bodies'))
    .option('--search <text>', 'only those with this text, reference or order number')
    .option('--account <id>', 'only those with a key of this account')
    .option('--failed', 'only those that failed or met a fault')
    .option('--limit <number>', 'how many, at most 500', '50')
    .option('--before <id>', 'only those before this Request-Id');
  addSandboxOptions(command).action(async (id: string | undefined, options: LogsOptions) => {
    const ask = <Answer>(path: string, schema: z.ZodType<Answer>): Promise<Answer> =>
      askSandbox(options, { method: 'GET', path }, schema);
    if (id !== undefined) {
      const request = await ask(`/requests/${encodeURIComponent(id)}`, requestSchema);
      return writeAnswer(context.stdout, options.json, request, requestText(request));
    }
    const { search, account, failed, limit, before } = options;
    const chosen = { search, account, failed: failed === true ? 'true' : undefined, limit, before };
    const given = Object.entries(chosen).filter((entry): entry is [string, string] => entry[1] !== undefined);
    const page = await ask(`/requests?${new URLSearchParams(given).toString()}`, pageSchema);
    return writeAnswer(context.stdout, options.json, page, pageText(page));
  });
}

function pageText({ requests, next_before: next }: z.infer<typeof pageSchema>): string {
  const rows = requests.map((request) => {
    const { id, at, method, path, operation, account, key } = request;
    const sent = path === null ? operation : `${method ?? ''} ${path}`;
    return [id, shortTime(at), sent.slice(0, 60), answerOf(request), key === null ? '-' : `${account ?? ''}/${key}`];
  });
  const more = next === null ? '' : `Older ones: --before ${next}\n`;
  return renderTable(['REQUEST', 'TIME', 'CALL', 'ANSWER', 'KEY'], rows) + more;
}

function answerOf({ status, code, fault }: Request): string {
  const answer = status === 0 ? 'none' : String(status);
  return [answer, code, fault === null ? null : `fault ${fault}`].filter((text) => text !== null).join(' ');
}

function requestText(request: Request): string {
  const lines = Object.entries(request).flatMap(([name, value]) =>
    value === null || value === '' ? [] : `${name.padEnd(14)}${plainText(String(value))}\n`,
  );
  return lines.join('');
}

interface TriggerOptions extends SandboxClientOptions {
  readonly times: number;
  readonly operation?: string;
  readonly account?: string;
}

function addTrigger(sandbox: Command, context: CliContext): void {
  const names = Object.entries(sandboxEvents).map(([name, { subject, about }]) => {
    const call = subject === null ? name : `${name} <${subject}>`;
    return `  ${call.padEnd(28)}${about}`;
  });
  const command = sandbox
    .command('trigger')
    .description('let something happen in the running sandbox: a delivery, a refund, a fault')
    .addArgument(new Argument('<event>', 'what happens, see below').choices(Object.keys(sandboxEvents)))
    .addArgument(new Argument('[subject]', 'what it happens to'))
    .option('--times <number>', 'of fault and fail-state-checks: how often; -1 for checks: always', timesOption, 1)
    .option('--operation <name>', 'of fault: only calls of this operation, such as gift_card_order')
    .option('--account <id>', 'of fault: only calls with a key of this account')
    .addHelpText('after', ['', 'Events:', ...names].join('\n'));
  addSandboxOptions(command).action(async (name: string, subject: string | undefined, options: TriggerOptions) => {
    const event = sandboxEvents[name];
    if (event === undefined || (event.subject === null) !== (subject === undefined)) {
      const message = event?.subject === null ? `${name} takes no argument` : `${name} needs: ${event?.subject ?? ''}`;
      throw new OrderSyncError('USAGE', message, { hint: 'see `order-sync sandbox trigger --help`' });
    }
    await askSandbox(options, event.request(subject ?? '', options), z.unknown());
    const done = subject === undefined ? name : `${name} ${plainText(subject)}`;
    writeAnswer(context.stdout, options.json, { event: name, subject: subject ?? null }, `${done}: done\n`);
  });
}

function timesOption(text: string): number {
  if (!/^(-1|\d{1,6})$/.test(text)) throw new InvalidArgumentError('It must be a whole number, or -1.');
  return Number(text);
}
