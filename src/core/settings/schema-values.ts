import { z } from 'zod';
import { isHttpUrl } from './http-url.ts';

/** A duration in whole milliseconds. */
export const durationMs = (min: number, max: number) => z.int().min(min).max(max);

export const count = (min: number, max: number) => z.int().min(min).max(max);

/** A path. A relative one starts at the working directory. Its default depends on `data_dir`. */
export const folderPath = (description: string) => z.string().min(1).max(4096).optional().describe(description);

export const keyName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,31}$/, 'must be 1 to 32 of a-z 0-9 _ - and start with a letter or digit');

export const httpUrl = z
  .string()
  .refine(
    isHttpUrl,
    'must be an http or https address without user, query or fragment, for example "https://api.example.com/v1"',
  );

/** `host:port`, with brackets around an IPv6 host. */
export const listenAddress = z
  .string()
  .regex(/^(\[[0-9a-fA-F:.]+\]|[^:\s[\]]+):\d{1,5}$/, {
    error: 'must be host:port, for example "127.0.0.1:9090"',
    abort: true,
  })
  .refine((text) => Number(text.slice(text.lastIndexOf(':') + 1)) <= 65_535, 'must have a port from 0 to 65535');

/**
 * A secret: never printed. The schema declares `<name>_file` next to it, and `required` means that one of the two must
 * be set. `config` finds all secrets by this mark.
 */
export const secretText = (need: 'required' | 'optional') =>
  z
    .string()
    .min(1)
    .max(4096)
    .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces')
    .optional()
    .meta({ secret: need });

/** The key next to a secret that names the file which holds it. */
export const secretFile = (what: string) => z.string().min(1).optional().describe(`A file that holds ${what}.`);

/** A token by which somebody is known. */
export const tokenText = secretText('required').describe(
  'The token, at least 16 characters. In production from the environment, or use `value_file`.',
);

/** The secrets of the Standard Webhooks scheme that sign what the worker posts. */
export const signingSecrets = z.array(
  z.strictObject({
    value: secretText('required').describe(
      'A secret: `whsec_` and base64 of 24 to 64 bytes. In production from the environment, or use `value_file`.',
    ),
    value_file: secretFile('the secret'),
  }),
);

/** Marks a key or a section that a reload changes. A key without a mark, and outside of such a section, needs a restart. */
export const live = { reload: 'live' } as const;
