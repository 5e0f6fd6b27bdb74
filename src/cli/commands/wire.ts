import { type Command, Option } from 'commander';
import { stringify } from 'yaml';
import { Buffer } from 'node:buffer';
import { readWire } from '../../wholesale/connector/wire.ts';
import { addAnswerOptions, type ConfigOptions, withReader } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { plainLines, writeAnswer } from '../output.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import {
  explainAnswer,
  type ExplainedAnswer,
  type SampleKind,
  sampleKinds,
} from '../../wholesale/explain-answer.ts';
import { checkedConfigFrom } from '../checked-config.ts';
import { exitCodes } from '../errors.ts';
import { readInput } from '../input.ts';
import { renderTable } from '../table.ts';

export function addWire(program: Command, context: CliContext): void {
  const command = program.command('wire');
  addWireTest(command, context);
  addAnswerOptions(command).action((options: ConfigOptions) => {
    const wire = readWire(checkedConfigFrom(options).config.wholesale.wire);
    // As a section of the config file, to copy and change there.
    writeAnswer(context, options, wire, stringify({ wholesale: { wire } }, { lineWidth: 120 }));
  });
}

interface TestOptions extends ConfigOptions {
  readonly for?: SampleKind;
  readonly last?: SampleKind;
}

const mostBytes = 1_048_576;

function addWireTest(parent: Command, context: CliContext): void {
  const command = parent
    .command('test')
    .description('show how the mapping reads an answer of the API, without a call')
    .argument('[file]', 'the answer as JSON; - for standard input (required without --last)')
    .addOption(
      new Option('--last <kind>', 'the last answer that the worker kept, masked').choices(
        sampleKinds,
      ),
    )
    .addOption(
      new Option(
        '--for <kind>',
        'the kind of call that the answer belongs to (default: error if the answer has an error, else submit)',
      ).choices(sampleKinds),
    );
  addAnswerOptions(command).action(async (file: string | undefined) => {
    // `wire` itself takes the options of the configuration, too, and would keep them.
    const options = command.optsWithGlobals<TestOptions>();
    const loaded = checkedConfigFrom(options);
    const wire = readWire(loaded.config.wholesale.wire);
    const { text, ...asked } = await sampleOf(file, options);
    const explained = explainAnswer(text, asked, wire);
    if (explained === null)
      throw new OrderSyncError('INVALID_INPUT', 'The answer is not complete JSON', {});
    if (explained.problems.length > 0) context.setExitCode(exitCodes.problemsFound);
    const leaves = explained.leaves.map(({ path, value, readAs }) => ({
      path,
      value,
      read_as: readAs,
    }));
    writeAnswer(context, options, { ...explained, leaves }, asText(explained));
  });
}

type Sample = Parameters<typeof explainAnswer>[1] & { readonly text: string };

async function sampleOf(file: string | undefined, options: TestOptions): Promise<Sample> {
  const { last } = options;
  if (last !== undefined) return await lastAnswer(last, options);
  if (file === undefined) {
    throw new OrderSyncError(
      'USAGE',
      'Name a file with an answer, - for standard input, or --last submit',
      {},
    );
  }
  const tooLarge = () =>
    new OrderSyncError('INVALID_INPUT', `${file} has more than ${mostBytes} bytes`, {});
  const text = Buffer.concat(await readInput(file, mostBytes, tooLarge)).toString('utf8');
  return {
    text,
    kind: options.for ?? (/"error"\s*:\s*\{/.test(text) ? 'error' : 'submit'),
    family: null,
  };
}

function lastAnswer(last: SampleKind, options: TestOptions): Promise<Sample> {
  return withReader(options, (reader) => {
    const isError = last === 'error';
    const kept = reader.lastAnswer(isError ? 'submit' : last, isError);
    if (kept === null) {
      throw new OrderSyncError('NOT_FOUND', `No answer of the kind "${last}" is kept`, {});
    }
    const { body: text, operation, httpStatus: http } = kept;
    const family =
      operation === null ? null : operation === 'gift_card_order' ? 'gift_card' : 'esim';
    return { text, kind: last, family, http };
  });
}

function asText({ kind, family, row, message, read, leaves, ...found }: ExplainedAnswer): string {
  const table = renderTable(
    ['VALUE AT', 'VALUE', 'READ AS'],
    leaves.map(({ path, value, readAs }) => [
      path,
      value,
      readAs.length === 0 ? 'not read' : readAs.join(', '),
    ]),
  );
  const facts = Object.entries(read).filter(([name]) => !name.startsWith('unread '));
  return `${table}\n${plainLines([
    `read as the answer to ${kind}, ${family}`,
    `outcome: ${row}${message === '' ? '' : ` (${message})`}`,
    ...facts.map(([name, value]) => `  ${name}: ${value}`),
    ...found.notes,
    ...found.problems.map((problem) => `to correct: ${problem}`),
  ])}`;
}
