import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { z } from 'zod';
import { section } from './schema-shapes.ts';
import { count, durationMs, folderPath, httpUrl, keyName, live, secretValue } from '../core/settings/schema-values.ts';
import type { ConfigPath, SectionCheck } from './section-check.ts';

export const wholesale = z
  .strictObject({
    environment: z
      .enum(['production', 'sandbox'])
      .default('production')
      .describe(
        '`sandbox` allows plain http and keys written in this file, and marks every result with `sandbox: true`.',
      ),
    base_url: httpUrl.describe(
      'The address of the Wholesale Ordering API. It must be https, except on this machine and for a sandbox.',
    ),
    keys: z
      .array(
        z.strictObject({
          name: keyName.describe('The name of this key in logs, pauses and attempts.'),
          ...secretValue('the key', 'The key itself.'),
        }),
      )
      .min(1)
      .max(5)
      .describe('One to five API keys of one account. Each key has its own budget.')
      .meta(live),
    ca_file: folderPath(
      'Certificate authorities (PEM) that are trusted instead of those of the system, read at the start. Certificates are always verified.',
    ),
    limits: section('The budget that the server allows.', {
      requests: count(1, 100_000).default(60).describe('Calls in a minute, for each key.'),
      orders: count(1, 100_000)
        .default(20)
        .describe('Calls in a minute that buy, top up or cancel, for each key. At most `requests`.'),
    }).meta(live),
    timeouts: section('Deadlines of one call.', {
      connect_ms: durationMs(1, 600_000).default(5000).describe('Until the connection is open.'),
      response_ms: durationMs(1, 600_000).default(30_000).describe('From the request until the answer begins.'),
      total_ms: durationMs(1, 600_000)
        .default(45_000)
        .describe('From the start of the call until the whole answer has arrived.'),
    }),
    wire: z
      .unknown()
      .optional()
      .describe('Paths and field names that the specification does not show. See `order-sync wire`.')
      .meta(live),
  })
  .describe('The API of the supplier.');

const noProblem = () => null;

/** The host of the example files: a database must not be bound to it. */
const placeholder = /^https?:\/\/wholesale\.example\.com(?=[:/]|$)/i;

export function checkWholesale(check: SectionCheck): void {
  const address = check.at('wholesale', 'base_url');
  if (typeof address === 'string' && placeholder.test(address)) {
    check.report(
      ['wholesale', 'base_url'],
      `is the one of the example: write the address of your API, got "${address}"`,
    );
  }
  if (!check.isSandbox) check.encrypted(['wholesale', 'base_url'], 'keys and codes would cross the network');
  const limits = ['wholesale', 'limits'];
  const requests = check.number([...limits, 'requests'], 60);
  const orders = check.number([...limits, 'orders'], 20);
  if (orders > requests) {
    const reason = 'because each order counts as a request';
    check.report([...limits, 'orders'], `must be at most \`requests\` (${requests}), ${reason}, got ${orders}`);
  }
  const timeouts = ['wholesale', 'timeouts'];
  const response = check.number([...timeouts, 'response_ms'], 30_000);
  const total = check.number([...timeouts, 'total_ms'], 45_000);
  if (total < response) {
    check.report([...timeouts, 'total_ms'], `must be at least \`response_ms\` (${response}), got ${total}`);
  }
  const keys = check.entries('wholesale', 'keys');
  check.distinct(keys, 'name', 'the names of the other keys');
  // The server counts one key under two names as one key: the worker would exceed its budget.
  const next = 'remove one of them, because the server counts calls by key';
  check.secretsOf(keys, 'value', noProblem, (first) => `is the same key as ${first}: ${next}`);
}

const longestFile = 1_048_576;

/** The certificates of a `ca_file` as PEM; null when it is not set, or when it is reported. */
export function readCaFile(check: SectionCheck, cwd: string, path: ConfigPath): string | null {
  const file = check.at(...path);
  if (typeof file !== 'string' || file === '') return null;
  let text: string;
  try {
    text = readFileSync(resolve(cwd, file), 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    check.report(path, `must name a file that can be read, got "${file}" (${code})`);
    return null;
  }
  const problem = problemOfCertificates(text);
  if (problem === null) return text;
  check.report(path, `${problem}, got "${file}"`);
  return null;
}

function problemOfCertificates(text: string): string | null {
  const found = text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  if (found.length === 0 || text.length > longestFile)
    return 'must name a file with certificates in PEM (-----BEGIN CERTIFICATE-----)';
  for (const [index, pem] of found.entries()) {
    try {
      void new X509Certificate(pem);
    } catch {
      // Node would ignore it, and every call would fail.
      return `names a file whose certificate ${index + 1} of ${found.length} is damaged`;
    }
  }
  return null;
}
