import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import * as z from 'zod';
import type { SandboxConfig } from '../settings/config.ts';
import { createSandbox, type Sandbox, type SandboxOptions } from '../create-sandbox.ts';

export const mainKey = 'sandbox-key-main';

/** A folder that is deleted when the test is over. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sandbox-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/**
 * A sandbox on a free port with a database file, closed when the test is over. By default without
 * limits.
 */
export async function startSandbox(
  config: SandboxConfig = {},
  options: Partial<Omit<SandboxOptions, 'config'>> = {},
): Promise<Sandbox> {
  const database = options.database ?? join(temporaryFolder(), 'sandbox.db');
  const sandbox = await createSandbox({
    ...options,
    database,
    // Only the crash test needs commits on the disk; it starts its sandboxes itself.
    config: { limits: { enabled: false }, durability: 'relaxed', ...config },
  });
  onTestFinished(() => sandbox.close());
  return sandbox;
}

export type Reply = { status: number; headers: Headers; text: string; json: unknown };

const errorBody = z.strictObject({
  error: z.strictObject({ code: z.string(), message: z.string() }),
});

/** The `code` of an error answer. Throws unless the body is exactly the error body of Spec 7. */
export function codeOf(reply: Reply): string {
  return errorBody.parse(reply.json).error.code;
}

export function messageOf(reply: Reply): string {
  return errorBody.parse(reply.json).error.message;
}

/** Status and code of an error answer, such as `402 insufficient_balance`. */
export function refusalOf(reply: Reply): string {
  return `${reply.status} ${codeOf(reply)}`;
}

export type Caller = {
  get(path: string, headers?: Record<string, string>): Promise<Reply>;
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Reply>;
  send(method: string, path: string, init?: RequestInit): Promise<Reply>;
};

/** An HTTP client with this key; null sends no key. */
export function callerOf({ url }: { url: string }, key: string | null = mainKey): Caller {
  const authorization: Record<string, string> =
    key === null ? {} : { authorization: `Bearer ${key}` };
  const send = async (method: string, path: string, init: RequestInit = {}): Promise<Reply> => {
    const headers = { ...authorization, ...Object.fromEntries(new Headers(init.headers)) };
    const response = await fetch(url + path, { redirect: 'manual', ...init, method, headers });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: parsed(text) };
  };
  return {
    send,
    get: (path, headers = {}) => send('GET', path, { headers }),
    post: (path, body = {}, headers = {}) =>
      send('POST', path, {
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      }),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** An HTTP client of the operator's routes. */
export function operatorOf({ url }: { url: string }): Caller {
  return callerOf({ url: `${url}/__sandbox` }, null);
}

export const giftCard = (reference: string, more: object = {}): object => ({
  reference,
  variant: 'steam-usd-20',
  quantity: 1,
  currency: 'USD',
  ...more,
});

export const esim = (reference: string, more: object = {}): object => ({
  reference,
  plan: 'es-5gb-30d',
  quantity: 1,
  currency: 'USD',
  ...more,
});

const esimOrder = z.looseObject({
  number: z.string(),
  esims: z.array(z.looseObject({ iccid: z.string() })).min(1),
});

/** Buys one eSIM and returns its ICCID. */
export async function buyEsim(
  caller: Caller,
  reference: string,
  more: object = {},
): Promise<string> {
  const order = esimOrder.parse((await caller.post('/esim/orders', esim(reference, more))).json);
  return order.esims[0]?.iccid ?? '';
}

export function balanceOf(sandbox: Sandbox, currency: string, account = 'acme'): number {
  const found = sandbox
    .ledger()
    .balances.find((row) => row.account === account && row.currency === currency);
  return found?.amount_minor ?? 0;
}

/** The `Request-Id` of an answer. */
export const idOf = (reply: Reply): string => reply.headers.get('request-id') ?? 'none';

const requestPage = z.object({
  requests: z.array(z.looseObject({ id: z.string(), status: z.number() })),
  next_before: z.string().nullable(),
});

/** The request log, as its route shows it. */
export async function logOf(sandbox: Sandbox, query = ''): Promise<z.output<typeof requestPage>> {
  return requestPage.parse((await operatorOf(sandbox).get(`/requests${query}`)).json);
}
