import { stepsOf } from '../../support/steps.ts';
import SqliteDatabase from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import { keepAnswer } from '../../../src/store/entries/kept-answers.ts';
import { close, fulfilled, line, Outbox } from '../../support/outbox.ts';

async function opened(): Promise<Outbox> {
  const box = await Outbox.open();
  onTestFinished(() => box.close());
  return box;
}

it('an answer is kept with the end of its call, and shown with its order', async () => {
  const box = await opened();
  await box.accept([line()]);
  const attempt = await box.opened();
  const end = close(attempt, fulfilled);
  const kept = { ...end, outcome: { ...end.outcome, http: 201, kept: '{"number":"W-1"}' } };
  await stepsOf(box.store).closeAttempt(kept);
  const { reference } = attempt.entry;
  const answer = { reference, kind: 'submit', httpStatus: 201, body: '{"number":"W-1"}' };
  expect(box.store.read.keptAnswers([reference])).toMatchObject([answer]);
  expect(box.store.read.lastAnswer('submit', false)).toMatchObject(answer);
  expect(box.store.read.lastAnswer('submit', true)).toBeNull();
});

it('the last 20 of each kind are kept, for seven days', async () => {
  const box = await opened();
  const { answers } = box.store;
  const database = new SqliteDatabase(box.path);
  onTestFinished(() => void database.close());
  const keep = (isError: boolean, http: number, nowMs: number): void =>
    keepAnswer(database, {
      kind: 'products',
      isError,
      attemptId: null,
      http,
      body: `{"at":${nowMs}}`,
      nowMs,
    });
  keep(true, 503, 0);
  for (let nowMs = 1; nowMs <= 30; nowMs += 1) keep(false, 200, nowMs);
  expect(box.store.read.lastAnswer('products', true)?.httpStatus).toBe(503);
  const week = 7 * 86_400_000;
  expect(await answers.removeOld(week)).toBe(0);
  expect(await answers.removeOld(week + 11)).toBe(1);
  expect(await answers.removeOld(week + 30)).toBe(19);
  expect(box.store.read.lastAnswer('products', false)?.body).toBe('{"at":30}');
});
