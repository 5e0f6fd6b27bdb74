import { describe, expect, it } from 'vitest';
import { parseExactJson } from '../../../src/core/exact-json.ts';
import { familyOf, type Operation } from '../../../src/core/order/purchase.ts';
import { readAnswer } from '../../../src/wholesale/connector/read-answer.ts';
import { whyUnrecognised } from '../../../src/wholesale/connector/recognise-order.ts';
import { answerWireFor } from '../../../src/wholesale/connector/wire-answer.ts';
import { readWire } from '../../../src/wholesale/connector/wire.ts';
import { iccid } from '../api-calls.ts';

const wire = readWire(undefined);

function why(text: string, operation: Operation = 'gift_card_order'): string | null {
  const body = parseExactJson(text) ?? null;
  return whyUnrecognised(
    body,
    readAnswer(body, familyOf(operation), answerWireFor(wire.answer, operation)),
    operation,
    wire.answer,
  );
}

describe('a success in which an order is recognised', () => {
  it.each([
    ['an order number', '{"id":1}'],
    ['a reference', '{"data":{"client_reference":"os-1"}}'],
    ['a known status word', '{"status":"processing"}'],
    ['a refund', '{"status":"refunded","error":null}'],
    ['units', '{"codes":["AAAA-BBBB"]}'],
    [
      'a number beside a flag of success',
      '{"success":true,"errorCode":"0","errors":[],"data":{"id":1}}',
    ],
    ['a number beside a message', '{"id":1,"message":"thank you","code":200}'],
    ['a reference beside a word for failure', '{"reference":"os-1","status":"failed"}'],
  ])('shows %s', (_what, text) => {
    expect(why(text)).toBeNull();
  });

  it.each([
    ['esim_topup', '{"id":5}'],
    ['esim_topup', `{"iccid":"${iccid}","status":"completed"}`],
    ['esim_cancel', `{"iccid":"${iccid}","status":"cancelled"}`],
    ['esim_cancel', `{"esim":{"iccid":"${iccid}","state":"cancelled"}}`],
    ['esim_cancel', '{"status":"refunded"}'],
    ['esim_order', `{"iccid":"${iccid}","lpa":"LPA:1$smdp.example.com$M-1"}`],
  ] as const)('shows it for %s: %s', (operation, text) => {
    expect(why(text, operation)).toBeNull();
  });
});

describe('a success whose body has no known field of an order', () => {
  it.each([
    ['nothing', '{}'],
    ['a flag', '{"ok":true}'],
    ['a flag and a message', '{"success":true,"message":"queued for validation"}'],
    ['an unknown status word alone', '{"status":"ok"}'],
    ['a status that is a number', '{"status":200}'],
    ['a cost alone: a price is one, too', '{"total":"9.50","currency":"USD"}'],
    [
      'the repeated product and quantity alone: a cart is that, too',
      '{"variant":"steam-10","quantity":2}',
    ],
    ['an empty list', '{"data":[]}'],
    ['that it failed', '{"success":false,"message":"not enough stock"}'],
    ['that it failed, with a reference', '{"ok":"false","reference":"os-1","id":7}'],
    ['that it failed, inside an envelope', '{"data":{"success":false,"id":7}}'],
    ['an error of another form', '{"code":"E1001","message":"temporarily unavailable"}'],
    ['an error with a number of its own', '{"id":"req-7","errors":["out of stock"]}'],
    [
      'an error inside an envelope',
      '{"data":{"id":"req-7","error":{"code":"out_of_stock","message":"m"}}}',
    ],
    ['a word for failure alone', '{"status":"error","message":"insufficient funds"}'],
    ['units that are none', '{"codes":[null,""],"items":[{"code":"steam-10"}]}'],
  ])('shows %s', (_what, text) => {
    expect(why(text)).not.toBeNull();
  });

  it('is described by the names of its fields, without a value, and without what may be a code', () => {
    expect(why('{"purchase_id":"AAAA-BBBB","redeemCode":"CCCC","DDDD-EEEE":1,"FFFF":2}')).toBe(
      'a success whose body has no known field of an order; its fields: purchase_id, redeemCode, (another)',
    );
    expect(why('{}')).toBe('a success whose body has no known field of an order');
  });

  it.each([
    ['esim_topup', `{"iccid":"${iccid}"}`],
    ['esim_topup', `{"iccid":"${iccid}","message":"plan not available"}`],
    ['esim_cancel', '{}'],
    ['esim_cancel', `{"iccid":"${iccid}"}`],
    ['esim_cancel', `{"iccid":"${iccid}","status":"error"}`],
    ['esim_order', '{"esims":[{"iccid":"PENDING_1"}]}'],
  ] as const)('shows none for %s: %s', (operation, text) => {
    expect(why(text, operation)).not.toBeNull();
  });
});
