import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { SandboxConfig } from '../../sandbox/settings/config.ts';
import * as z from 'zod';
import { type KeyReport, keyReportSchema } from './key-report.ts';

export interface SandboxProcess {
  readonly url: string;
  reportOn(key: string): Promise<KeyReport>;
  /** The arrival of the next call, in ms since 1970, with fractions. */
  nextArrival(): Promise<number>;
  close(): Promise<void>;
}

/** An account with more money than a bench spends, and one key of the same name. */
export function richAccount(id: string): NonNullable<SandboxConfig['accounts']>[number] {
  return {
    id,
    balances: { USD: '999999999.00' },
    keys: [{ name: id, value: keyValueOf(id) }],
  };
}

export const keyValueOf = (id: string): string => `bench-key-${id}`;

export async function startSandbox(folder: string, config: SandboxConfig): Promise<SandboxProcess> {
  const child = fork(new URL('sandbox-child.ts', import.meta.url), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const exited = once(child, 'exit');
  // The bench measures the client: the server need not survive a power failure.
  const sent = {
    database: join(folder, 'sandbox.db'),
    config: { durability: 'relaxed' as const, ...config },
  };
  child.send(sent);
  const first = await Promise.race([once(child, 'message'), exited.then(() => [])]);
  const { url } = z.tuple([z.object({ url: z.string() })], z.unknown()).parse(first)[0];
  const waiting = new Map<number, (report: unknown) => void>();
  child.on('message', (message) => {
    const { id, report } = z.object({ id: z.number(), report: z.unknown() }).parse(message);
    waiting.get(id)?.(report);
    waiting.delete(id);
  });
  let questions = 0;
  const ask = (key: string | null): Promise<unknown> => {
    questions += 1;
    child.send({ id: questions, key });
    const { promise, resolve } = Promise.withResolvers<unknown>();
    waiting.set(questions, resolve);
    return promise;
  };
  return {
    url,
    reportOn: async (key) => keyReportSchema.parse(await ask(key)),
    nextArrival: async () => z.number().parse(await ask(null)),
    async close() {
      child.disconnect();
      await exited;
    },
  };
}
