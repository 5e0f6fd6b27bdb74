import { expect, it } from 'vitest';
import { clientActionFor, wholesaleErrors } from '../../../src/core/answers/wholesale-errors.ts';

it('the advice about each error is a sentence for a shop, and none orders again what may be bought', () => {
  expect(wholesaleErrors).toHaveLength(19);
  for (const { code, action } of wholesaleErrors) {
    expect([code, action]).toEqual([code, expect.stringMatching(/^[A-Z][^`{}]+\.$/)]);
    expect(action).not.toMatch(/new reference|Read |header|GET |\/products/);
  }
  expect(clientActionFor('reference_in_use')).toMatch(/^Do not order the line again/);
});
