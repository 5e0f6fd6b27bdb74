import { z } from 'zod';
import { adminRoles } from '../admin/settings.ts';
import { keyName, listenAddress, live, rotatingToken } from '../core/settings/schema-values.ts';

/** The section of health, pages and commands. */
export const admin = z
  .strictObject({
    listen: listenAddress
      .default('127.0.0.1:9090')
      .describe(
        'Where the worker answers health checks, shows its pages and takes commands of this machine. Port 0: any free port.',
      ),
    tokens: z
      .array(
        z.strictObject({
          name: keyName.describe('Who signs in with this token. The audit log names the decisions by it.'),
          role: z
            .enum(adminRoles)
            .describe('`viewer`: reads the pages. `operator`: also decides, for example holds, retries and re-orders.'),
          ...rotatingToken,
        }),
      )
      .max(100)
      .default([])
      .describe(
        'Who may sign in to the pages. Empty: the pages only show, and only on an address of this machine alone. See docs/pages.md.',
      )
      .meta(live),
    hosts: z
      .array(
        z
          .string()
          .regex(/^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/, 'must be a host name in small letters, without port'),
      )
      .max(100)
      .default([])
      .describe(
        'Further host names under which browsers reach the pages, for example `orders.example.com` of a proxy. Under another name nothing is shown.',
      )
      .meta(live),
  })
  .prefault({})
  .describe('The admin server.');
