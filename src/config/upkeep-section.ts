import { z } from 'zod';
import {
  count,
  keyName,
  listOf,
  orNull,
  secretValue,
  section,
  usualPath,
} from '../core/settings/schema-values.ts';
import { isCronExpression } from '../ops/schedule.ts';

export const seal = section(
  'The keys that encrypt delivered codes in the database. See docs/sealing.md.',
  {
    keys: listOf(
      16,
      'The first key encrypts, all decrypt. Keep a copy of each: without it, its codes are lost. Empty: no encryption.',
      {
        id: keyName.describe('The name of this key. A new key needs a new id.'),
        ...secretValue('Base64 of 32 bytes.'),
      },
    ),
  },
);

export const retention = section('How long data is kept. See docs/sealing.md.', {
  codes_days: orNull(count(1, 36_500)).describe(
    'Codes are erased this many days after their result was delivered everywhere. Unset: never.',
  ),
});

export const backup = section('Backups of the database.', {
  folder: usualPath(
    'Where backups are written, best on another disk. Default: `<data_dir>/backups`.',
  ),
  keep: count(1, 1000).default(7).describe('How many backups are kept.'),
  schedule: z
    .string()
    .refine(
      (text) => text === 'off' || isCronExpression(text),
      'must be off, or a cron expression of five or six fields, for example "23 2 * * *"',
    )
    .transform((text) => (text === 'off' ? null : text))
    .prefault('23 2 * * *')
    .describe(
      'When the worker makes a backup and checks the database for damage, as a cron expression in UTC, or `off`.',
    ),
});
