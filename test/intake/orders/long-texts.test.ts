import { describe, expect, it } from 'vitest';
import { parseExactJson } from '../../../src/core/exact-json.ts';
import { readAnswer } from '../../../src/wholesale/connector/read-answer.ts';
import { whyUnrecognised } from '../../../src/wholesale/connector/recognise-order.ts';
import { readWire } from '../../../src/wholesale/connector/wire.ts';
import { readDocument } from './read-document.ts';

/** Where the time grew with the square of the length, each of these took minutes. */
describe('a text from outside that is long and alike', () => {
  it('may be a number', async () => {
    const content = `{"order_id":"1","lines":[0.1${'0'.repeat(1_000_000)}1]}`;
    const { rejections } = await readDocument(content, 'json', {
      limits: { jsonBytes: 2_000_000 },
    });
    expect(rejections[0]).toMatchObject({ code: 'unsafe_number' });
  });

  it('may be the first line of a CSV file', async () => {
    const { error } = await readDocument('a'.repeat(1_000_000), 'csv', {
      limits: { rowBytes: 500_000 },
    });
    expect(error?.documentCode).toBe('line_too_long');
  });

  it('may be the word of an answer', () => {
    const body = parseExactJson(`{"error":"${' '.repeat(500_000)}x"}`) ?? null;
    const answer = readAnswer(body, 'gift_card', readWire(undefined).answer);
    expect(whyUnrecognised(body, answer, 'gift_card_order', readWire(undefined).answer)).toContain(
      'error',
    );
  });
});
