import { describe, expect, it } from 'vitest';
import { createLogger, type LogOptions } from '../../src/ops/logger.ts';

function logged(options: Partial<LogOptions>, isTTY: boolean) {
  const lines: string[] = [];
  const stream = { isTTY, write: (line: string) => void lines.push(line) };
  const log = createLogger(
    { level: 'info', version: '1.2.3', instance: 'acme', ...options },
    stream,
  );
  return { log, lines };
}

describe('the log', () => {
  it('has one JSON object a line, with levels as words and ISO times, when its stream is no terminal', () => {
    const { log, lines } = logged({}, false);
    log.warn({ reference: 'os-abc' }, 'order refused');
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '')).toEqual({
      level: 'warn',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]+\.\d{3}Z$/),
      instance: 'acme',
      version: '1.2.3',
      reference: 'os-abc',
      msg: 'order refused',
    });
  });

  it('drops what nobody reads beyond 8 MB, and says how many lines when somebody reads again', () => {
    const lines: string[] = [];
    const stream = { writableLength: 0, write: (line: string) => void lines.push(line) };
    const log = createLogger({ level: 'info', version: '1.2.3', instance: 'acme' }, stream);
    log.info('first');
    stream.writableLength = 8 * 1_048_576 + 1;
    for (let event = 0; event < 3; event += 1) log.info('unread');
    stream.writableLength = 0;
    log.info('last');
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { msg: 'first' },
      {
        level: 'error',
        lines: 3,
        msg: 'the log was read too slowly: lines were dropped',
      },
      { msg: 'last' },
    ]);
  });

  it('is one line an event for people on a terminal, and begins with the order', () => {
    const { log, lines } = logged({}, true);
    const order = {
      source: 'shop',
      order_id: '1001',
      line_id: '1',
      reference: 'os-abc',
      operation: 'gift_card_order',
    };
    const bought = {
      state: 'fulfilled',
      product: 'steam-usd-20',
      order_number: 'GC-1',
      cost: '18.90',
      currency: 'USD',
    };
    log.info({ ...order, ...bought, outcome: 'accepted', http: 201 }, 'gift_card_order fulfilled');
    const cancelled = {
      operation: 'esim_cancel',
      state: 'fulfilled',
      product: '8999',
      currency: 'USD',
    };
    log.info({ ...order, ...cancelled, order_number: 'ES-1', cost: null }, 'esim_cancel fulfilled');
    const message = 'Not enough balance.';
    log.warn(
      { ...order, state: 'waiting', product: 'steam-usd-20', message },
      'gift_card_order waiting',
    );
    log.error({ ...order, state: 'needs_review', reason: 'order_absent' }, 'needs review');
    log.info({ file: 'a.csv', file_id: '01M', accepted: 2, rejected: 0 }, 'order file accepted');
    expect(lines.map((line) => line.slice('12:34:52 '.length))).toEqual([
      '1001/1 gift card steam-usd-20 bought GC-1 18.90 USD\n',
      '1001/1 eSIM cancellation of 8999 done ES-1\n',
      '\u001b[33mWARN\u001b[39m 1001/1 gift card steam-usd-20 waiting - Not enough balance.\n',
      '\u001b[31mERROR\u001b[39m 1001/1 gift card needs review (reason order_absent)\n',
      'order file accepted (file a.csv, accepted 2)\n',
    ]);
    for (const line of lines) expect(line).toMatch(/^\d\d:\d\d:\d\d /);
  });

  it('shows an error with its stack on a terminal, and lets nothing from outside move the cursor', () => {
    const { log, lines } = logged({}, true);
    log.error(
      { err: new Error('disk \u001b[2J failed'), order_id: 'a\nb\u001b[2Jc' },
      'could not write',
    );
    const [text = ''] = lines;
    expect(text).toMatch(/a b \[2Jc could not write\n {4}Error: disk \[2J failed\n {4}at /);
    expect(text.replace('\u001b[31mERROR\u001b[39m', '')).not.toContain('\u001b');
  });

  it('writes a line before the call returns, in both formats', () => {
    for (const isTTY of [true, false]) {
      const { log, lines } = logged({}, isTTY);
      log.info('now');
      expect(lines).toHaveLength(1);
    }
  });

  it('never shows keys, authorization headers or delivered codes, in both formats', () => {
    for (const isTTY of [true, false]) {
      const { log, lines } = logged({}, isTTY);
      log.info({
        authorization: 'SECRET1',
        request: { headers: { authorization: 'SECRET2' }, body: 'SECRET3' },
        headers: { Authorization: 'SECRET4' },
        keys: [{ name: 'main', value: 'SECRET5' }],
        wholesale: { keys: [{ name: 'main', value: 'SECRET6' }] },
        units: [{ code: 'SECRET7' }],
        answer: { units: [{ code: 'SECRET8', pin: 'SECRET9' }] },
        unit: {
          pin: 'SECRET10',
          lpa: 'SECRET11',
          matching_id: 'SECRET12',
          confirmation_code: 'SECRET13',
        },
      });
      expect(lines.join('')).not.toContain('SECRET');
      expect(lines.join('')).toContain('main');
    }
  });

  it('writes no line below its level', () => {
    const { log, lines } = logged({ level: 'error' }, false);
    log.warn('not this');
    expect(lines).toEqual([]);
  });
});
