import { Buffer } from 'node:buffer';
import { type Command, Option } from 'commander';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { explainAnswer, type ExplainedAnswer, type SampleKind, sampleKinds } from '../../wholesale/explain-answer.ts';
import { readWire } from '../../wholesale/connector/wire.ts';
import { checkedConfigFrom } from '../checked-config.ts';
import { addAnswerOptions, type ConfigOptions, withReader } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { exitCodes } from '../errors.ts';
import { readInput } from '../input.ts';
import { plainLines, writeAnswer } from '../output.ts';
import { renderTable } from '../table.ts';
import { samplesFolder, writeSample } from '../wire-samples.ts';

interface TestOptions extends ConfigOptions {
  readonly for?: SampleKind;
  readonly family?: 'gift_card' | 'esim';
  readonly last?: SampleKind;
  readonly write?: boolean;
}

const mostBytes = 1_048_576;

export function addWireTest(parent: Command, context: CliContext): void {
  const command = parent
    .command('test')
    .description('read an answer of the API with the mapping, without a call: what each value is read as')
    .argument('[file]', 'the answer as JSON; - for standard input')
    .addOption(new Option('--last <kind>', 'the last answer that the worker kept, masked').choices(sampleKinds))
    .addOption(
      new Option('--for <kind>', 'what the file is the answer to (default: submit, or error)').choices(sampleKinds),
    )
    .addOption(
      new Option('--family <family>', 'of what was ordered (default: in which more is read)').choices([
        'gift_card',
        'esim',
      ]),
    )
    .option('--write', 'keep it, masked, in wire-samples/ beside the config: check-config reads it again');
  addAnswerOptions(command).action(async (file: string | undefined) => {
    // `wire` itself takes the options of the configuration, too, and would keep them.
    const options = command.optsWithGlobals<TestOptions>();
    const loaded = checkedConfigFrom(options);
    const wire = readWire(loaded.config.wholesale.wire);
    const { text, ...asked } = await sampleOf(file, options);
    const explained = explainAnswer(text, asked, wire);
    if (explained === null) throw new OrderSyncError('INVALID_INPUT', 'The answer is not complete JSON', {});
    const written = options.write === true ? writeSample(samplesFolder(loaded.file), text, explained, wire) : null;
    if (explained.problems.length > 0) context.setExitCode(exitCodes.problemsFound);
    const leaves = explained.leaves.map(({ path, value, readAs }) => ({ path, value, read_as: readAs }));
    writeAnswer(context, options, { ...explained, leaves, written }, asText(explained, written));
  });
}

interface Sample {
  readonly text: string;
  readonly kind: SampleKind;
  readonly family: 'gift_card' | 'esim' | null;
  readonly http?: number | undefined;
}

async function sampleOf(file: string | undefined, options: TestOptions): Promise<Sample> {
  const { last, family = null } = options;
  if (last !== undefined) return await lastAnswer(last, options);
  if (file === undefined) {
    throw new OrderSyncError('USAGE', 'Name a file with an answer, - for standard input, or --last submit', {
      hint: "begin with the sample in the supplier's documentation: `order-sync wire test answer.json`",
    });
  }
  const tooLarge = () => new OrderSyncError('INVALID_INPUT', `${file} has more than ${mostBytes} bytes`, {});
  const text = Buffer.concat(await readInput(file, mostBytes, tooLarge)).toString('utf8');
  return { text, kind: options.for ?? (/"error"\s*:\s*\{/.test(text) ? 'error' : 'submit'), family };
}

function lastAnswer(last: SampleKind, options: TestOptions): Promise<Sample> {
  return withReader(options, (reader) => {
    const isError = last === 'error';
    const kept = reader.lastAnswer(isError ? 'submit' : last, isError);
    if (kept === null) {
      throw new OrderSyncError('NOT_FOUND', `No answer of the kind "${last}" is kept`, {
        hint: 'the last 20 are kept for seven days; those to orders since the worker of this version runs',
      });
    }
    const { body: text, operation, httpStatus: http } = kept;
    const family = operation === null ? null : operation === 'gift_card_order' ? 'gift_card' : 'esim';
    return { text, kind: last, family, http };
  });
}

function asText(
  { kind, family, row, message, read, leaves, problems }: ExplainedAnswer,
  written: string | null,
): string {
  const table = renderTable(
    ['VALUE AT', 'VALUE', 'READ AS'],
    leaves.map(({ path, value, readAs }) => [path, value, readAs.length === 0 ? 'not read' : readAs.join(', ')]),
  );
  const outcome = row === null ? [] : [`outcome: ${row}${message === '' ? '' : ` (${message})`}`];
  const facts = Object.entries(read).filter(([name]) => !name.startsWith('unread '));
  return `${table}\n${plainLines([
    `read as the answer to ${kind}, ${family}`,
    ...outcome,
    ...facts.map(([name, value]) => `  ${name}: ${value}`),
    ...problems.map((problem) => `to correct: ${problem}`),
    ...(written === null ? [] : [`written: ${written}`]),
  ])}`;
}
