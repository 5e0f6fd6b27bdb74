import { describe, expect, it } from 'vitest';
import { createLogger, type LogOptions } from '../../src/ops/logger.ts';

function logged(options: Partial<LogOptions>, isTTY: boolean) {
  const lines: string[] = [];
  const stream = { isTTY, write: (line: string) => void lines.push(line) };
  const log = createLogger({ level: 'info', version: '1.2.3', instance: 'acme', ...options }, stream);
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

  it('is formatted for people on a terminal', () => {
    const { log, lines } = logged({}, true);
    log.info('taking up work');
    expect(lines.join('')).toMatch(/INFO.*taking up work/);
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
        unit: { pin: 'SECRET10', lpa: 'SECRET11', matching_id: 'SECRET12', confirmation_code: 'SECRET13' },
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
