import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { AcceptanceLog } from '../../../src/intake/http/acceptance-log.ts';
import { createLogger } from '../../../src/ops/logger.ts';

function logInMemory() {
  const lines: unknown[] = [];
  const options = { level: 'info', format: 'json', version: '0', instance: 'test' } as const;
  const logger = createLogger(options, { write: (line) => lines.push(JSON.parse(line)) });
  return { lines, log: new AcceptanceLog(logger) };
}

const accepted = (orderId: string, lines = 1) => ({
  status: 'accepted' as const,
  requestId: 1,
  source: 'shop',
  orderId,
  lines: Array.from({ length: lines }, (_, index) => ({ lineId: String(index), reference: 'os-1' })),
});

describe('the log of accepted orders', () => {
  it('has one line for a single request', async () => {
    const { lines, log } = logInMemory();
    log.add('till', [accepted('1001', 2)]);
    await nextTurn();
    log.add('till', [accepted('1002')]);
    await nextTurn();
    expect(lines).toMatchObject([
      { msg: 'orders accepted', caller: 'till', source: 'shop', order_id: '1001', requests: 1, orders: 1, lines: 2 },
      { caller: 'till', order_id: '1002', requests: 1, orders: 1, lines: 1 },
    ]);
  });

  it('has one line for each caller when many requests come together, and counts all of them', async () => {
    const { lines, log } = logInMemory();
    for (let index = 0; index < 100; index += 1) log.add('till', [accepted(String(index)), accepted(`${index}b`, 2)]);
    log.add('erp', [accepted('e')]);
    await nextTurn();
    await nextTurn();
    expect(lines).toMatchObject([
      { caller: 'till', order_id: '0', requests: 100, orders: 200, lines: 300 },
      { caller: 'erp', order_id: 'e', requests: 1, orders: 1, lines: 1 },
    ]);
    expect(lines).toHaveLength(2);
  });
});
