import type { AcceptableLine } from '../../src/core/order/order-request.ts';
import { plainIntake, type FileFormat, type FilePlan, type SentLine } from './intake-plan.ts';
import { carriedBy } from './order-documents.ts';
import { plainLine, type OrderBatch, type RunPlan } from './run-plan.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { FileErrorPlan } from './sim-mount.ts';

/** 18 digits: of 19 or 20, the last one would have to be a check digit. */
function withShortIccids(plan: RunPlan): RunPlan {
  const short = (iccid: string): string => `${iccid.slice(0, 17)}${iccid.slice(-1)}`;
  const ofLine = (line: AcceptableLine): AcceptableLine =>
    line.iccid === null ? line : { ...line, iccid: short(line.iccid) };
  return {
    ...plan,
    oldEsims: plan.oldEsims.map(short),
    batches: plan.batches.map((batch) => ({ ...batch, lines: batch.lines.map(ofLine) })),
    account: {
      ...plan.account,
      unchecked: new Map([...plan.account.unchecked].map(([iccid, span]) => [short(iccid), span])),
    },
  };
}

function drawFileErrors(random: SeededRandom): FileErrorPlan[] {
  const errors: FileErrorPlan[] = [];
  while (random.chance(errors.length === 0 ? 0.3 : 0.5)) {
    errors.push({
      afterCalls: random.chance(0.5) ? random.int(1, 40) : random.int(1, 300),
      code: random.pick('EIO', 'ENOSPC', 'EACCES'),
      times: random.pick(1, 1, 2, 8),
    });
  }
  return errors;
}

/** Lines that must be refused, beside the good ones. */
function withMistakes(random: SeededRandom, lines: readonly AcceptableLine[], order: number): readonly SentLine[] {
  const good = lines.map((line): SentLine => ({ line, mistake: 'none' }));
  if (!random.chance(0.3)) return good;
  const mistake = random.pick('quantity', 'type');
  const line: AcceptableLine = {
    ...plainLine,
    orderId: random.chance(0.5) ? `m${order}` : (lines[0]?.orderId ?? ''),
    lineId: 'bad',
  };
  return random.chance(0.5) ? [...good, { line, mistake }] : [{ line, mistake }, ...good];
}

function drawFile(random: SeededRandom, batch: OrderBatch, number: number): FilePlan {
  const format: FileFormat = random.pick('csv', 'csv', 'ndjson', 'json');
  const lines = batch.lines.map((line) => carriedBy(format, line));
  return {
    name: `orders-${number}.${format}`,
    format,
    lines: withMistakes(random, lines, number),
    atMs: batch.atMs,
    style: random.pick('renamed', 'renamed', 'in_place', 'late'),
    marker: random.pick('empty', 'full', 'full', 'full', 'wrong'),
    againAtMs: batch.againAtMs,
  };
}

/** The same order with another content, in another file: the shop must be told which of the two is not bought. */
function changedFile(random: SeededRandom, file: FilePlan, latestMs: number): FilePlan | null {
  const [first] = file.lines;
  if (first === undefined || first.line.quantity === null || first.mistake !== 'none') return null;
  const line = { ...first.line, quantity: first.line.quantity + 1 };
  const { format } = file;
  return {
    ...file,
    name: `changed-${file.name}`,
    lines: [{ line, mistake: 'none' }],
    atMs: random.int(0, latestMs),
    marker: 'full',
    format,
  };
}

/** A quarter of the runs play the intake: some of their orders come in by file. */
export function withIntake(random: SeededRandom, plan: RunPlan): RunPlan {
  // After a loss the shop would have to send everything again, which it does without the intake.
  if (!random.chance(0.25) || plan.lostDiskAtMs !== null) return plan;
  const files: FilePlan[] = [];
  const batches: OrderBatch[] = [];
  const short = withShortIccids(plan);
  for (const [index, batch] of short.batches.entries()) {
    if (random.chance(0.3)) {
      batches.push(batch);
      continue;
    }
    const file = drawFile(random, batch, index + 1);
    files.push(file);
    const changed = random.chance(0.2) ? changedFile(random, file, plan.faultsOffMs) : null;
    if (changed !== null) files.push(changed);
    const lines = file.lines.filter(({ mistake }) => mistake === 'none').map(({ line }) => line);
    batches.push({ ...batch, lines, byIntake: true });
  }
  return {
    ...short,
    batches,
    intake: {
      ...plainIntake,
      ready: random.pick('stable', 'stable', 'done_file'),
      files,
      slowShare: random.pick(0, 0, 0.02, 0.1),
      fileErrors: drawFileErrors(random),
    },
  };
}
