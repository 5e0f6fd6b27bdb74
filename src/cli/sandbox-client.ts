import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { z } from 'zod';
import { OrderSyncError, type OrderSyncErrorCode } from '../core/order-sync-error.ts';
import { addAnswerOptions, configFrom, type ConfigOptions } from './config-options.ts';
import { addressFile, readSandboxSection, type SandboxSection } from './sandbox-section.ts';
import { loopbackAddress } from './worker-client.ts';

/** The options of every command that a running sandbox performs. */
export interface SandboxClientOptions extends ConfigOptions {
  readonly url?: string;
}

export interface SandboxRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below `/__sandbox`. */
  readonly path: string;
  readonly body?: unknown;
}

const answerWithinMs = 20_000;

export function addSandboxOptions(command: Command): Command {
  return addAnswerOptions(command, 'config/sandbox.yaml').option(
    '--url <url>',
    'the address of the sandbox (default: the one that runs with this config)',
  );
}

/**
 * Has the running sandbox perform something on its operator routes, and returns its answer.
 * @throws OrderSyncError UNREACHABLE when no sandbox answers; NOT_FOUND, INVALID_INPUT or REFUSED when it says so
 */
export async function askSandbox<Answer>(
  options: SandboxClientOptions,
  { method, path, body }: SandboxRequest,
  answer: z.ZodType<Answer>,
): Promise<Answer> {
  const { config } = await configFrom(options);
  const section = readSandboxSection(config.sandbox, config.dataDir);
  const url = options.url ?? addressOf(section);
  const token = section.config.admin_token;
  let status: number;
  let content: unknown;
  try {
    const response = await fetch(`${url}/__sandbox${path}`, {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(answerWithinMs),
      redirect: 'manual',
    });
    status = response.status;
    content = await response.json();
  } catch (cause) {
    throw noSandbox(url, cause);
  }
  const failed = errorSchema.safeParse(content);
  if (failed.success) throw refused(status, failed.data.error.message, `${method} ${path}`);
  const parsed = answer.safeParse(content);
  if (!parsed.success) throw noSandbox(url, parsed.error);
  return parsed.data;
}

const errorSchema = z.object({ error: z.object({ message: z.string() }) });

function refused(status: number, message: string, call: string): OrderSyncError {
  const code: OrderSyncErrorCode = status === 404 ? 'NOT_FOUND' : status === 422 ? 'INVALID_INPUT' : 'REFUSED';
  return new OrderSyncError(code, `The sandbox did not do it: ${message} (${call})`, {
    hint:
      status === 403
        ? 'run this on the machine of the sandbox, or give both the same sandbox.admin_token'
        : 'docs/sandbox.md describes what its routes take; `order-sync sandbox logs` shows its orders',
  });
}

function noSandbox(url: string, cause: unknown): OrderSyncError {
  return new OrderSyncError('UNREACHABLE', `No sandbox answers at ${url}`, {
    hint: 'start one with `order-sync sandbox` or `order-sync demo`, or name another one with --url',
    cause,
  });
}

/** Where the sandbox of this config listens. The file beside its database may have outlived it. */
function addressOf(section: SandboxSection): string {
  let host = section.listen;
  try {
    host = readFileSync(addressFile(section), 'utf8').trim().replace('http://', '');
  } catch {
    // No file: it does not run, or it was started without the command line.
  }
  return `http://${loopbackAddress(host)}`;
}
