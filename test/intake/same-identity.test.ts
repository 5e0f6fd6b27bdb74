import { describe, expect, it } from 'vitest';
import { submitCommandSchema } from '../../src/core/operator/operator-command.ts';
import { idOf } from '../../src/storefronts/shop/payload-values.ts';
import { readDocument } from './orders/read-document.ts';
import { order, startIntake } from './http/running-intake.ts';

const spoofed = '1001\ufe0f';
const says = /U\+FE0F after 4 characters: remove it/;
const spoofedOrder = order({ order_id: spoofed });

describe('an order id with a character that nobody sees is refused', () => {
  it.each([
    ['a JSON file', 'json', JSON.stringify(spoofedOrder), '/order_id'],
    ['an NDJSON file', 'ndjson', `${JSON.stringify(spoofedOrder)}\n`, '/order_id'],
    ['a CSV file', 'csv', `order_id,variant,currency\n${spoofed},steam-usd-20,USD\n`, 'order_id'],
  ] as const)('in %s', async (_name, format, text, field) => {
    const { lines, rejections } = await readDocument(text, format);
    expect(lines).toEqual([]);
    expect(rejections[0]).toMatchObject({
      field,
      value: spoofed,
      rule: expect.stringMatching(says),
      orderId: null,
    });
  });

  it('over HTTP', async () => {
    const { post } = await startIntake();
    const { status, json } = await post(spoofedOrder);
    expect([status, json.errors]).toEqual([
      422,
      [
        {
          pointer: '#/order_id',
          code: 'invalid_field',
          detail: expect.stringMatching(says),
          value: spoofed,
        },
      ],
    ]);
  });

  it('in a command to a running worker, which the command line has checked before', async () => {
    const [line] = (await readDocument(JSON.stringify(order()), 'json')).lines;
    const accepts = (changes: object): boolean =>
      submitCommandSchema.safeParse({ action: 'submit', lines: [{ ...line, ...changes }] }).success;
    expect([accepts({}), accepts({ orderId: spoofed }), accepts({ lineId: '1\u00a02' })]).toEqual([
      true,
      false,
      false,
    ]);
  });

  it('in the order of a shop, whose ids are digits only', () => {
    expect([idOf('1001'), idOf(spoofed), idOf('10\u200b01'), idOf('１００１')]).toEqual([
      '1001',
      null,
      null,
      null,
    ]);
  });
});
