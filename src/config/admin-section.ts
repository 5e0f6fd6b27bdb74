import { z } from 'zod';
import { adminRoles, type AdminSettings } from '../admin/settings.ts';
import { isLoopback, keyName, listenAddress, live, tokenValue } from '../core/settings/schema-values.ts';
import { listOf, section } from './schema-shapes.ts';
import { problemOfText, type SectionCheck } from './section-check.ts';

const defaultListen = '127.0.0.1:9090';

export const admin = section('The admin server.', {
  listen: listenAddress
    .default(defaultListen)
    .describe(
      'Where the worker answers health checks, shows its pages and takes commands of this machine. Port 0: any free port.',
    ),
  tokens: listOf(
    100,
    'Who may sign in to the pages, see docs/pages.md. During a rotation, list the old and the new token under the same name. Empty: no pages are shown; with the sandbox they only show, on this machine.',
    {
      name: keyName.describe('Who signs in with this token. The audit log names the decisions by it.'),
      role: z
        .enum(adminRoles)
        .describe('`viewer`: reads the pages. `operator`: also decides, for example holds, retries and re-orders.'),
      ...tokenValue,
    },
  ).meta(live),
  hosts: z
    .array(
      z
        .string()
        .regex(/^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/, 'must be a host name in small letters, without port'),
    )
    .max(100)
    .default([])
    .describe(
      'Further host names of the pages, for example `orders.example.com` of a proxy. Under another name nothing is shown.',
    )
    .meta(live),
});

/** Only the token tells the audit log who decides: none may be shared, and that of a shop must not open the pages. */
export function checkAdmin(check: SectionCheck): void {
  checkPorts(check);
  const tokens = check.entries('admin', 'tokens');
  check.rotations(tokens, ['role']);
  for (const at of tokens) {
    const own = [...at, 'value'];
    const secret = check.secret(...own);
    if (secret === undefined) continue;
    const other = [...check.secrets].find(([where, value]) => where !== own.join('.') && value === secret)?.[0];
    const shared = other === undefined ? null : `is the same secret as ${other}: each needs its own`;
    const problem = problemOfText(secret) ?? shared;
    if (problem !== null) check.report(own, problem);
  }
}

function checkPorts(check: SectionCheck): void {
  const at = ['intake', 'webhook', 'listen'];
  const addresses = [check.at(...at) ?? '', check.at('admin', 'listen') ?? defaultListen].map(String);
  const [webhook, own] = addresses.map((address) =>
    /^(.*):0*([1-9]\d*)$/.exec(address.replace('localhost', '127.0.0.1')),
  );
  if (webhook?.[2] === undefined || webhook[2] !== own?.[2]) return;
  if (webhook[1] !== own[1] && ![webhook[1], own[1]].some((host) => host === '0.0.0.0' || host === '[::]')) return;
  check.report(at, `must have another port than admin.listen (${addresses[1]}), got "${addresses[0]}"`);
}

/**
 * Whether the pages are shown at all: without tokens, everybody who reaches the address would read every order. A proxy on
 * this machine makes that everybody, and not every proxy says that it is one.
 */
export function arePagesShown({ listen, tokens, isTrial }: AdminSettings): boolean {
  return tokens.length > 0 || (isTrial && isLoopback(listen.host));
}

/** An address that other machines reach is probably meant for their browsers. The pages themselves say the same. */
export function warnOfNoPages({ listen, tokens }: AdminSettings): readonly string[] {
  if (tokens.length > 0 || isLoopback(listen.host)) return [];
  const where = `admin.listen: other machines reach ${listen.host}, and admin.tokens is empty`;
  return [`${where}: no pages are shown; add a token, see docs/pages.md`];
}
