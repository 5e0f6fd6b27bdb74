import { type AdminSettings, usualAdminAddress } from '../admin/settings.ts';
import { isLoopback } from '../core/settings/schema-values.ts';
import { problemOfText, type SectionCheck } from './section-check.ts';

/**
 * Only the token tells the audit log who decides: none may be shared, and that of a shop must not
 * open the pages.
 */
export function checkAdmin(check: SectionCheck): void {
  checkPorts(check);
  const tokens = check.entries('admin', 'tokens');
  check.rotations(tokens, ['role']);
  for (const at of tokens) {
    const own = [...at, 'value'];
    const secret = check.secret(...own);
    if (secret === undefined) continue;
    const other = [...check.secrets].find(
      ([where, value]) => where !== own.join('.') && value === secret,
    )?.[0];
    const shared =
      other === undefined
        ? null
        : `is the same secret as ${other}: each token needs a secret of its own`;
    const problem = problemOfText(secret) ?? shared;
    if (problem !== null) check.report(own, problem);
  }
}

function checkPorts(check: SectionCheck): void {
  const at = ['intake', 'webhook', 'listen'];
  const addresses = [check.at(...at) ?? '', check.at('admin', 'listen') ?? usualAdminAddress].map(
    String,
  );
  const [webhook, own] = addresses.map((address) =>
    /^(.*):0*([1-9]\d*)$/.exec(address.replace('localhost', '127.0.0.1')),
  );
  if (webhook?.[2] === undefined || webhook[2] !== own?.[2]) return;
  if (
    webhook[1] !== own[1] &&
    ![webhook[1], own[1]].some((host) => host === '0.0.0.0' || host === '[::]')
  )
    return;
  check.report(
    at,
    `must have another port than admin.listen (${addresses[1]}), got "${addresses[0]}"`,
  );
}

/**
 * Whether the pages are shown at all: without tokens, everybody who reaches the address would read
 * every order. A proxy on this machine makes that everybody, and not every proxy says that it is
 * one.
 */
export function arePagesShown({ listen, tokens, isTrial }: AdminSettings): boolean {
  return tokens.length > 0 || (isTrial && isLoopback(listen.host));
}

/**
 * An address that other machines reach is probably meant for their browsers. The pages themselves
 * say the same.
 */
export function warnOfNoPages({ listen, tokens }: AdminSettings): readonly string[] {
  if (tokens.length > 0 || isLoopback(listen.host)) return [];
  const where = `admin.listen: other machines reach ${listen.host}, and admin.tokens is empty`;
  return [`${where}: no pages are shown; add a token, see docs/pages.md`];
}
