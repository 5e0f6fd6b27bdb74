import { z } from 'zod';
import {
  keyName,
  listenAddress,
  listOf,
  live,
  rotated,
  section,
  tokenValue,
} from '../core/settings/schema-values.ts';

const role = z.enum(['viewer', 'operator']);
export type AdminRole = z.output<typeof role>;

/** Where the admin server listens when no key says it. */
export const usualAdminAddress = '127.0.0.1:9090';

export const adminSection = section('The admin server.', {
  listen: listenAddress
    .prefault(usualAdminAddress)
    .describe('Where the worker answers health checks, shows its pages and takes commands.'),
  tokens: listOf(
    100,
    'The tokens for the admin pages, see docs/pages.md. Empty: no pages; with the sandbox, pages without actions.',
    {
      name: keyName.describe('Who signs in with this token: the name in the audit log.'),
      role: role.describe('`viewer` can read the pages, `operator` can also decide.'),
      ...tokenValue,
    },
  )
    .transform(rotated)
    .meta(live),
  hosts: z
    .array(
      z
        .string()
        .regex(
          /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/,
          'must be a host name in small letters, without port',
        ),
    )
    .max(100)
    .default([])
    .describe(
      'Other host names for the admin pages, for example `orders.example.com` behind a proxy.',
    )
    .meta(live),
});

/**
 * `isTrial`: the API is the sandbox. Then pages are shown without tokens, where only this machine
 * reaches `listen`.
 */
export type AdminSettings = z.output<typeof adminSection> & { readonly isTrial: boolean };
