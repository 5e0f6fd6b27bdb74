import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { LoadedConfig } from '../config/config.ts';
import { ConfigInvalidError, type ConfigIssue } from '../config/config-issue.ts';
import { explainAnswer, sampleKinds, type ExplainedAnswer } from '../wholesale/explain-answer.ts';
import { catalogueSample, maskedAnswer } from '../wholesale/connector/mask-answer.ts';
import { parseExactJson } from '../core/exact-json.ts';
import { readWire, type Wire } from '../wholesale/connector/wire.ts';

/** An answer with the form of its values instead of them, and what a mapping read in it. */
const sampleSchema = z.strictObject({
  for: z.enum(sampleKinds),
  family: z.enum(['gift_card', 'esim']),
  http: z.int(),
  read: z.record(z.string(), z.string()),
  answer: z.unknown(),
});

export const samplesFolder = (configFile: string): string => join(dirname(configFile), 'wire-samples');

/**
 * Writes an answer as a sample, masked: no code of a unit is in it. The same answer has the same file.
 * @returns its path; null for an answer that is too long
 */
export function writeSample(
  folder: string,
  text: string,
  { kind, family, http }: ExplainedAnswer,
  wire: Wire,
): string | null {
  const body = parseExactJson(text) ?? null;
  const part = { family, wire: wire.answer, order: body, known: [] };
  const answer = kind === 'products' ? catalogueSample(body) : maskedAnswer(body, part);
  const read = answer === null ? null : (explainAnswer(answer, { kind, family, http }, wire)?.read ?? null);
  if (answer === null || read === null) return null;
  const name = `${kind}-${family}-${createHash('sha256').update(answer).digest('hex').slice(0, 8)}.json`;
  mkdirSync(folder, { recursive: true });
  const value: unknown = JSON.parse(answer);
  writeFileSync(join(folder, name), `${JSON.stringify({ for: kind, family, http, read, answer: value }, null, 2)}\n`);
  return join(folder, name);
}

/**
 * Reads every sample beside the config again.
 * @throws ConfigInvalidError with each value that the mapping reads in another way than when the sample was written
 */
export function checkSamples({ file, config }: Pick<LoadedConfig, 'file' | 'config'>): void {
  const folder = samplesFolder(file);
  if (!existsSync(folder)) return;
  const wire = readWire(config.wholesale.wire);
  const names = readdirSync(folder).filter((name) => name.endsWith('.json'));
  const issues = names.toSorted().flatMap((name) => issuesOf(join(folder, name), wire));
  if (issues.length > 0) throw new ConfigInvalidError('The wire mapping, by its samples,', issues);
}

function issuesOf(place: string, wire: Wire): readonly ConfigIssue[] {
  const parsed = sampleSchema.safeParse(parsedJson(readFileSync(place, 'utf8')));
  if (!parsed.success)
    return [{ place, path: '', problem: 'is no sample of `order-sync wire test --write`: remove it' }];
  const { for: kind, family, http, read: before, answer } = parsed.data;
  const now = explainAnswer(JSON.stringify(answer), { kind, family, http }, wire)?.read ?? {};
  const differing = [...new Set([...Object.keys(before), ...Object.keys(now)])].filter(
    (key) => before[key] !== now[key],
  );
  return differing.map((path) => {
    const [old, shown] = [before[path], now[path]].map((value) => (value === undefined ? 'nothing' : `"${value}"`));
    return {
      place,
      path,
      problem: `was read as ${old}, and is read as ${shown} now; if that is right, write the sample again`,
    };
  });
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
