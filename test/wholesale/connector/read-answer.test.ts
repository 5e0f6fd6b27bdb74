import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { OrderAnswer } from '../../../src/core/answers/order-answer.ts';
import type { Family, Operation } from '../../../src/core/order/purchase.ts';
import { assert } from '../../../src/core/order-sync-error.ts';
import { findMismatch } from '../../../src/wholesale/connector/compare-order.ts';
import {
  isJsonObject,
  parseExactJson,
  type ExactJsonObject,
} from '../../../src/core/exact-json.ts';
import { readAnswer, readLookup } from '../../../src/wholesale/connector/read-answer.ts';
import { answerWireFor } from '../../../src/wholesale/connector/wire-answer.ts';
import { readWire, wireSchema } from '../../../src/wholesale/connector/wire.ts';
import { facts, iccid } from '../api-calls.ts';

function objectOf(text: string): ExactJsonObject {
  const value = parseExactJson(text);
  assert(isJsonObject(value), `${text} is a JSON object`);
  return value;
}
/** Parses the text itself: no number of a test becomes a float. */
const read = (
  text: string,
  family: Family = 'gift_card',
  wire = readWire(undefined),
): OrderAnswer => readAnswer(objectOf(text), family, answerWireFor(wire.answer, null));
const codes = (text: string): unknown => read(text).units;
const esims = (text: string): unknown => read(text, 'esim').units;

describe('an order is found', () => {
  it.each([
    [
      'as the answer itself',
      '{"number":"N1","reference":"r","status":"completed","total":"9.50","currency":"USD"}',
    ],
    [
      'in data',
      '{"data":{"number":"N1","reference":"r","status":"completed","total":"9.50","currency":"USD"}}',
    ],
    [
      'in order, beside a status of the wrapper',
      '{"status":"success","order":{"number":"N1","reference":"r","status":"completed","total":"9.50","currency":"USD"}}',
    ],
    [
      'in data.order',
      '{"data":{"order":{"number":"N1","reference":"r","status":"completed","total":"9.50","currency":"USD"}}}',
    ],
    [
      'under other names',
      '{"result":{"order_number":"N1","external_id":"r","state":"COMPLETED","cost":{"amount":"9.50","currency":"usd"}}}',
    ],
  ])('%s', (_where, text) => {
    expect(read(text)).toMatchObject({
      orderNumber: 'N1',
      reference: 'r',
      statusClass: 'done',
      cost: '9.50',
      currency: 'USD',
    });
  });

  it('inside a wrapper that has a number and a status of its own', () => {
    const wrapped =
      '{"id":"request-7","status":"pending","data":{"id":"N1","reference":"r","status":"completed"}}';
    expect(read(wrapped)).toMatchObject({ orderNumber: 'N1', reference: 'r', status: 'completed' });
    expect(read('{"status":"error","data":{"status":"completed"}}').status).toBe('completed');
  });

  it('without any field as an answer of nulls, not as a failure', () => {
    expect(read('{}')).toEqual({
      orderNumber: null,
      reference: null,
      status: null,
      statusClass: 'none',
      cost: null,
      currency: null,
      units: [],
    });
  });

  it('with every digit of its numbers', () => {
    const answer = read(
      '{"id":12345678901234567890123,"total":0.10,"currency":"USD","codes":[9007199254740993]}',
    );
    expect(answer).toMatchObject({
      orderNumber: '12345678901234567890123',
      cost: '0.10',
      units: [{ code: '9007199254740993' }],
    });
    expect(read('{"total":1e3}').cost).toBeNull();
    expect(read('{"total":"$9.50"}').cost).toBeNull();
    expect(read('{"total":"USD 9.50","currency":"USD"}').cost).toBe('9.50');
    expect(read('{"total":"EUR 9.50","currency":"USD"}').cost).toBeNull();
  });

  it('with amounts in minor units when the mapping says so', () => {
    const wire = wireSchema.parse({ answer: { money_minor_digits: 2 } });
    expect(
      ['1999', '5', '0', '100.5'].map(
        (total) => read(`{"total":${total}}`, 'gift_card', wire).cost,
      ),
    ).toEqual(['19.99', '0.05', '0.00', '1.005']);
  });

  it('with what is left of the balance where the mapping names it', () => {
    const text = '{"order":{"number":"W-1"},"account":{"usd":123450}}';
    expect(read(text).balanceLeft).toBeUndefined();
    const answer = { balance_left: ['account.usd'], money_minor_digits: 2 };
    const wire = wireSchema.parse({ answer });
    expect(read(text, 'gift_card', wire).balanceLeft).toBe('1234.50');
  });
});

describe('the status word', () => {
  it.each([
    ['refunded', 'refunded'],
    ['REFUNDED', 'refunded'],
    ['In Progress', 'pending'],
    ['in-progress', 'pending'],
    ['Canceled', 'failed'],
    ['COMPLETE', 'done'],
    ['something_new', 'none'],
  ])('%s has the class %s', (word, statusClass) => {
    expect(read(JSON.stringify({ status: word }))).toMatchObject({ status: word, statusClass });
  });

  it('refunded counts wherever it is in the answer', () => {
    expect(read('{"status":"success","data":{"status":"refunded"}}').statusClass).toBe('refunded');
    expect(
      read('{"id":5,"reference":"r","status":"ok","order":{"status":"refunded"}}').statusClass,
    ).toBe('refunded');
    expect(
      read(
        '{"id":5,"status":"refunded","esim":{"id":7,"status":"new","iccid":"8944000000000000006"}}',
        'esim',
      ).statusClass,
    ).toBe('refunded');
  });
});

describe('delivered codes', () => {
  it.each([
    ['plain texts', '{"codes":["A","B"]}', [{ code: 'A' }, { code: 'B' }]],
    [
      'objects',
      '{"codes":[{"code":"A","pin":12,"serial":"S"}]}',
      [{ code: 'A', pin: '12', serial: 'S' }],
    ],
    ['card numbers', '{"cards":[{"cardNumber":"4","pinCode":"1"}]}', [{ code: '4', pin: '1' }]],
    [
      'links',
      '{"vouchers":[{"redemption_url":"https://x.example/1","expires_at":"2027-01-01"}]}',
      [{ url: 'https://x.example/1', expires_at: '2027-01-01' }],
    ],
    [
      'codes within positions',
      '{"items":[{"variant":"a","codes":["A"]},{"variant":"b","codes":["B","C"]}]}',
      [{ code: 'A' }, { code: 'B' }, { code: 'C' }],
    ],
    [
      'pictures',
      '{"codes":[{"code":"iVBORw0KGgo=","type":"image/png"}]}',
      [{ url: 'data:image/png;base64,iVBORw0KGgo=' }],
    ],
    [
      'pictures without a type of their own',
      '{"codes":[{"code":"/9j/4AAQ","codeType":"CODE_IMAGE"}]}',
      [{ url: 'data:image/jpeg;base64,/9j/4AAQ' }],
    ],
    [
      'a code beside its own type',
      '{"codes":[{"code":"A","codeType":"CODE_TEXT","status":"DELIVERED"}]}',
      [{ code: 'A', status: 'DELIVERED' }],
    ],
    ['one text in the place of the list', '{"codes":"A"}', [{ code: 'A' }]],
    ['the lines of one text', '{"codes":"A\\r\\nB\\n"}', [{ code: 'A' }, { code: 'B' }]],
  ])('are read from %s', (_what, text, units) => {
    expect(codes(text)).toEqual(units);
  });

  it.each([
    ['an empty list', '{"codes":[]}'],
    ['blank texts', '{"codes":[""," "]}'],
    [
      'announced codes',
      '{"codes":[{"code":null,"status":"PENDING"},{"code":"later","codeType":"PRE_ORDER"}]}',
    ],
    ['a serial number alone', '{"keys":[{"serial":"S-1"},{"code":null,"serial":"S-2"}]}'],
    ['the list of what was ordered', '{"items":[{"code":"steam-10","quantity":1}]}'],
    ['an expiry date alone', '{"codes":[{"expires_at":"2027-01-01"}]}'],
    ['an unsafe link', '{"codes":[{"url":"javascript:alert(1)"}]}'],
    ['no list', '{"codes":null}'],
    ['lists of lists', '{"codes":[["A"]]}'],
  ])('are not read from %s', (_what, text) => {
    expect(codes(text)).toEqual([]);
  });

  it('count only with the fields that the mapping requires', () => {
    const wire = wireSchema.parse({ answer: { codes: { required: ['pin'] } } });
    expect(
      read('{"codes":[{"code":"A"},{"code":"B","pin":"1"}]}', 'gift_card', wire).units,
    ).toEqual([{ code: 'B', pin: '1' }]);
  });
});

describe('delivered eSIMs', () => {
  const lpa = 'LPA:1$smdp.example.com$MATCH';
  const whole = { iccid, lpa, smdp_address: 'smdp.example.com', matching_id: 'MATCH' };
  it.each([
    [
      'with the complete activation code',
      `{"esims":[{"iccid":"${iccid}","lpa":"${lpa}"}]}`,
      [whole],
    ],
    [
      'with its parts',
      `{"sims":[{"iccid":"${iccid}","smdpAddress":"http://smdp.example.com/","matchingId":"MATCH"}]}`,
      [whole],
    ],
    [
      'with a host name as lpa',
      `{"sims":[{"iccid":"${iccid}","lpa":"smdp.example.com","matching_id":"MATCH","qrcode":"${lpa}"}]}`,
      [whole],
    ],
    [
      'without the prefix',
      `{"esim":{"iccid":"${iccid}","ac":"1$smdp.example.com$MATCH"}}`,
      [whole],
    ],
    ['as a number', `{"iccid":${iccid},"lpa":"${lpa}"}`, [whole]],
    ['with a padding F', `{"iccid":"${iccid}F","lpa":"${lpa}"}`, [whole]],
    [
      'with a confirmation code',
      `{"iccid":"${iccid}","smdp":"smdp.example.com","matching_id":"MATCH","confirmation_code":"0000"}`,
      [{ ...whole, lpa: `${lpa}$$1`, confirmation_code: '0000' }],
    ],
    [
      'with pictures',
      `{"esims":[{"iccid":"${iccid}","qrCodeUrl":"data:image/png;base64,AA==","directAppleInstallUrl":"https://esimsetup.apple.com/x"}]}`,
      [
        {
          iccid,
          qr_url: 'data:image/png;base64,AA==',
          apple_install_url: 'https://esimsetup.apple.com/x',
        },
      ],
    ],
    ['from a list of ICCIDs', `{"esims":["${iccid}"]}`, [{ iccid }]],
    [
      'with their state',
      `{"esims":[{"iccid":"${iccid}","state":"installed"}]}`,
      [{ iccid, status: 'installed' }],
    ],
  ])('are read %s', (_what, text, units) => {
    expect(esims(text)).toEqual(units);
  });

  it('of an order have an ICCID and an activation code, unless the mapping says otherwise', () => {
    const units = (text: string, wire = readWire(undefined)) =>
      readAnswer(objectOf(text), 'esim', answerWireFor(wire.answer, 'esim_order')).units.length;
    const both = `{"esims":[{"iccid":"${iccid}","lpa":"${lpa}"}]}`;
    const [iccidOnly, lpaOnly] = [
      `{"esims":[{"iccid":"${iccid}"}]}`,
      `{"esims":[{"lpa":"${lpa}"}]}`,
    ];
    expect([units(both), units(iccidOnly), units(lpaOnly)]).toEqual([1, 0, 0]);
    const lenient = readWire({ answer: { esims: { required: [] } } });
    expect([units(iccidOnly, lenient), units(lpaOnly, lenient)]).toEqual([1, 1]);
  });

  it.each([
    ['a placeholder ICCID', `{"esims":[{"iccid":"PENDING_B2508","lpa":"${lpa}"}]}`],
    ['an ICCID that is too short', '{"esims":[{"iccid":"894400000000"}]}'],
    ['a host name alone', '{"esims":[{"lpa":"smdp.example.com"}]}'],
    ['nothing', '{"esims":[]}'],
  ])('are not read from %s', (_what, text) => {
    expect(esims(text)).toEqual([]);
  });
});

describe('fields of units that were not read', () => {
  const unread = (text: string, family: Family = 'gift_card'): unknown =>
    read(text, family).unreadFields;

  it.each([
    [
      'a security code beside a pin',
      '{"codes":[{"pin":"1234","security_code":"9876"}]}',
      ['security_code'],
    ],
    ['a second name of the code', '{"codes":[{"code":"steam-10","key":"AAAA-BBBB"}]}', ['key']],
    [
      'a field that is an object',
      '{"codes":[{"code":"A","redemption":{"secret":"B"}}]}',
      ['redemption'],
    ],
    [
      'units of which nothing was read',
      '{"codes":[{"voucher_secret":"AAAA-BBBB"}]}',
      ['voucher_secret'],
    ],
    [
      'a code as a name, which is not shown',
      '{"codes":[{"AAAA-BBBB":{"pin":"1"}}]}',
      ['(another)'],
    ],
  ])('are named: %s', (_what, text, names) => {
    expect(unread(text)).toEqual(names);
  });

  it.each([
    [
      'what its owner does not need',
      '{"codes":[{"id":7,"code":"A","currency":"USD","face_value":"10.00"}]}',
    ],
    [
      'flags and empty fields',
      '{"codes":[{"code":"A","is_digital":true,"note":null,"hint":"","tags":[]}]}',
    ],
    ['the same value again', '{"codes":[{"code":"AAAA-BBBB","key":"AAAA-BBBB","serial":"S"}]}'],
    ['a code that is only announced', '{"codes":[{"code":"later","codeType":"PRE_ORDER"}]}'],
    ['positions', '{"items":[{"code":"steam-10","weight":3}]}'],
    ['plain texts', '{"codes":["A","B"]}'],
  ])('are not named: %s', (_what, text) => {
    expect(unread(text)).toBeUndefined();
  });

  it('are named of a single eSIM, too, but not of an order that is the eSIM itself', () => {
    const fields = `"iccid":"${iccid}","lpa":"LPA:1$smdp.example.com$M","puk":"12345678"`;
    expect(unread(`{"esim":{${fields}}}`, 'esim')).toEqual(['puk']);
    expect(unread(`{${fields},"total":"9.50"}`, 'esim')).toBeUndefined();
  });

  it('are named of eSIMs, too, and at most ten', () => {
    const extra = Object.fromEntries(
      'abcdefghijklm'.split('').map((name) => [`${name}_puk`, '12345678']),
    );
    const esim = JSON.stringify({ esims: [{ iccid, lpa: 'LPA:1$smdp.example.com$M', ...extra }] });
    expect(unread(esim, 'esim')).toHaveLength(10);
  });
});

const mismatch = (operation: Operation, text: string): string | null => {
  const answer = objectOf(text);
  const expectation = {
    ...facts[operation],
    reference: operation === 'esim_cancel' ? null : facts[operation].reference,
  };
  const family = operation === 'gift_card_order' ? 'gift_card' : 'esim';
  return findMismatch(
    answer,
    readAnswer(answer, family, answerWireFor(readWire(undefined).answer, operation)),
    operation,
    expectation,
    readWire(undefined),
  );
};

describe('an answer that repeats fields of the order', () => {
  it.each([
    ['gift_card_order', '{}'],
    ['gift_card_order', '{"reference":"os-aaaa","quantity":2,"variant":"steam-10"}'],
    [
      'gift_card_order',
      '{"data":{"reference":"os-aaaa","quantity":"2","variant":{"name":"Steam"}}}',
    ],
    ['gift_card_order', '{"reference":"SUPPLIER-77","client_reference":"os-aaaa","quantity":2.0}'],
    ['gift_card_order', '{"order":{"reference":"OS-AAAA"}}'],
    ['gift_card_order', '{"reference":"os-aaaa","variant":"STEAM-10","quantity":1}'],
    ['esim_order', '{"reference":"os-bbbb","quantity":1,"plan":"fr-daily"}'],
    ['esim_topup', `{"reference":"os-cccc","plan":"fr-1gb","iccid":"${iccid}","esims":[]}`],
    ['esim_topup', `{"reference":"os-cccc","esim":{"iccid":"${iccid}"}}`],
    ['esim_cancel', `{"reference":"of-the-order","iccid":"${iccid}","quantity":3}`],
  ] as const)('is accepted for %s with %s', (operation, text) => {
    expect(mismatch(operation, text)).toBeNull();
  });

  it.each([
    ['gift_card_order', '{"reference":"os-zzzz"}', 'os-zzzz'],
    ['gift_card_order', '{"reference":"SUPPLIER-77","client_reference":"os-zzzz"}', 'SUPPLIER-77'],
    ['gift_card_order', '{"reference":"os-aaaa","quantity":3}', 'quantity'],
    ['gift_card_order', '{"reference":"os-aaaa","quantity":2.5}', 'quantity'],
    ['gift_card_order', '{"reference":"os-aaaa","quantity":2,"variant":"steam-20"}', 'steam-20'],
    ['esim_order', '{"reference":"os-bbbb","plan":"fr-weekly"}', 'fr-weekly'],
    ['esim_topup', '{"reference":"os-cccc","iccid":"8944000000000000014"}', '8944000000000000014'],
    ['esim_cancel', '{"esim":{"iccid":"8944000000000000014"}}', '8944000000000000014'],
  ] as const)('is a mismatch for %s with %s', (operation, text, told) => {
    expect(mismatch(operation, text)).toContain(told);
  });
});

const look = (text: string) =>
  readLookup(parseExactJson(text) ?? null, 'gift_card', 'r', readWire(undefined).answer);

describe('a lookup finds', () => {
  it.each([
    ['one order', '{"reference":"r","id":1}'],
    ['an order without its reference', '{"id":1,"status":"completed"}'],
    ['ours in a list', '{"data":[{"reference":"q","id":2},{"reference":"r","id":1}]}'],
    [
      'ours in a list of orders with numbers of their own',
      '{"data":[{"reference":"S-1","client_reference":"r"}]}',
    ],
    ['a refund, which says enough', '{"status":"refunded"}'],
    ['ours in a bare list', '[{"reference":"r","id":1}]'],
    [
      'ours in a list beside a status of the answer',
      '{"status":"success","data":[{"reference":"r","id":1}]}',
    ],
  ])('%s', (_what, text) => {
    expect(look(text)).toMatchObject({ kind: 'read' });
  });

  it.each([
    ['an empty list, which says nothing about absence', '{"data":[]}'],
    ['a list without ours', '{"data":[{"reference":"q","id":2}]}'],
    ['ours twice', '[{"reference":"r","id":1},{"reference":"r","id":2}]'],
    ['an object of something else', '{"ok":true}'],
    ['an empty list beside a status of the answer', '{"status":"success","data":[]}'],
    ['an answer that says that it failed', '{"success":false,"data":[{"reference":"r","id":1}]}'],
    ['a status without an order', '{"status":"success","data":null}'],
    ['a pending status without an order', '{"status":"processing"}'],
    ['an error of another form', '{"code":"E404","message":"no such order"}'],
    ['nothing', '{}'],
  ])('nothing in %s', (_what, text) => {
    expect(look(text).kind).toBe('unreadable');
  });

  it('ours in a list, also where each order of other answers is in an envelope', () => {
    const wire = wireSchema.parse({ answer: { envelopes: ['data'] } });
    const list =
      parseExactJson(
        '{"data":[{"reference":"q","id":2},{"reference":"r","id":1,"codes":["A"]}]}',
      ) ?? null;
    expect(readLookup(list, 'gift_card', 'r', wire.answer)).toMatchObject({
      kind: 'read',
      answer: { orderNumber: '1', units: [{ code: 'A' }] },
    });
  });

  it('a mismatch in an order with another reference', () => {
    expect(look('{"reference":"q","id":2}').kind).toBe('mismatch');
  });
});

describe('an answer of any JSON', () => {
  const json = fc.oneof(
    fc.json({ maxDepth: 6 }),
    fc
      .json()
      .map(
        (inner) =>
          `{"data":${inner},"codes":${inner},"esims":[${inner}],"status":${inner},"total":${inner}}`,
      ),
    fc
      .json()
      .map(
        (inner) =>
          `{"order":{"id":${inner},"reference":${inner},"items":[{"code":${inner},"iccid":${inner}}]}}`,
      ),
  );
  it('is read without a throw, and every unit has a field', () => {
    fc.assert(
      fc.property(json, fc.constantFrom<Family>('gift_card', 'esim'), (text, family) => {
        const value = parseExactJson(text);
        fc.pre(isJsonObject(value));
        const answer = readAnswer(value, family, readWire(undefined).answer);
        for (const operation of ['gift_card_order', 'esim_topup'] as const) {
          findMismatch(value, answer, operation, facts[operation], readWire(undefined));
        }
        readLookup(value, family, 'r', readWire(undefined).answer);
        expect(answer.units.every((unit) => Object.keys(unit).length > 0)).toBe(true);
        expect(
          answer.units.every((unit) => unit.iccid === undefined || /^\d{18,22}$/.test(unit.iccid)),
        ).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  it('is unreadable when it is nested too deep', () => {
    const deep = `${'['.repeat(400_000)}${']'.repeat(400_000)}`;
    expect(() => parseExactJson(deep)).not.toThrow();
    expect(read('{"__proto__":{"status":"refunded"},"constructor":{"id":1}}')).toMatchObject({
      status: null,
      orderNumber: null,
    });
  });
});
