import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  callerOf,
  type Caller,
  giftCard,
  startSandbox,
  temporaryFolder,
} from './running-sandbox.ts';

async function startProcess(database: string): Promise<{ url: string; child: ChildProcess }> {
  const script = join(import.meta.dirname, 'sandbox-process.ts');
  const child = spawn(process.execPath, [script, database, '127.0.0.1:0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  if (child.stdout === null) throw new Error('the output must be piped');
  const [url] = await once(createInterface(child.stdout), 'line');
  return { url: String(url), child };
}

/**
 * Places one order after the other until the connection breaks. Returns the acknowledged
 * references.
 */
async function orderUntilItBreaks(caller: Caller, prefix: string): Promise<string[]> {
  const acknowledged: string[] = [];
  for (let count = 0; ; count += 1) {
    try {
      const reply = await caller.post('/orders', giftCard(`${prefix}-${count}`));
      if (reply.status !== 201) throw new Error(`unexpected ${reply.status}: ${reply.text}`);
      acknowledged.push(`${prefix}-${count}`);
    } catch (error) {
      if (error instanceof TypeError) return acknowledged;
      throw error;
    }
  }
}

describe('a crash of the sandbox', () => {
  it('kill -9 under load loses no acknowledged order and charges none twice', async () => {
    const database = join(temporaryFolder(), 'sandbox.db');
    const acknowledged: string[] = [];
    for (let round = 0; round < 3; round += 1) {
      const { url, child } = await startProcess(database);
      const caller = callerOf({ url });
      const workers = Array.from({ length: 16 }, (_, index) =>
        orderUntilItBreaks(caller, `r${round}-w${index}`),
      );
      // These orders make sure that the workers have begun before the process is killed.
      for (let count = 0; count <= round * 15; count += 1)
        await caller.post('/orders', giftCard(`p${round}-${count}`));
      child.kill('SIGKILL');
      for (const references of await Promise.all(workers)) acknowledged.push(...references);
    }
    const ledger = (await startSandbox({}, { database })).ledger();
    const known = new Set(ledger.orders.map((order) => order.reference));
    expect(acknowledged.length).toBeGreaterThan(50);
    expect(acknowledged.filter((reference) => !known.has(reference))).toEqual([]);
    expect(known.size).toBe(ledger.orders.length);
    const charges = ledger.movements.filter((movement) => movement.kind === 'charge');
    expect(new Set(charges.map((movement) => movement.order_number)).size).toBe(
      ledger.orders.length,
    );
    const own = ledger.movements.filter((row) => row.account === 'acme' && row.currency === 'USD');
    const sum = own.reduce((total, row) => total + row.amount_minor, 0);
    const balance = ledger.balances.find((row) => row.account === 'acme' && row.currency === 'USD');
    expect(balance?.amount_minor).toBe(sum);
  });
});
