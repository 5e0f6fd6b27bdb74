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
import { isSealKey, sealKeyBytes } from '../core/sealing/seal-keys.ts';
import { isCronExpression } from '../ops/schedule.ts';
import type { SectionCheck } from './section-check.ts';

export const seal = section(
  'The keys that seal delivered codes in the database. See docs/sealing.md.',
  {
    keys: listOf(
      16,
      'The first key seals, all open. Keep a copy of each: without it, its codes are lost. Empty: codes are stored in clear.',
      {
        id: keyName.describe(
          'The name of this key. It stands in each value that it sealed: a new key needs a new id.',
        ),
        ...secretValue('The key: base64 of 32 bytes.'),
      },
    ),
  },
);

export const retention = section('For how long something is kept. See docs/sealing.md.', {
  codes_days: orNull(count(1, 36_500)).describe(
    'Delivered codes are shredded so many days after their result was delivered everywhere. Unset: codes are kept.',
  ),
});

export const backup = section('Backups of the database.', {
  folder: usualPath(
    'Where `db backup` writes. Best on another disk. Default: `<data_dir>/backups`.',
  ),
  keep: count(1, 1000)
    .default(7)
    .describe('How many backups stay; `db backup` removes older ones.'),
  schedule: z
    .string()
    .refine(
      (text) => text === 'off' || isCronExpression(text),
      'must be off, or a cron expression of five or six fields, for example "23 2 * * *"',
    )
    .transform((text) => (text === 'off' ? null : text))
    .prefault('23 2 * * *')
    .describe(
      'When the running worker makes a backup as `db backup` does, and checks that the database is not damaged, as a cron expression in UTC; `off`: never.',
    ),
});

/** A key that is too short would seal nothing, and two with one id could not be told apart. */
export function checkSeal(check: SectionCheck): void {
  const keys = check.entries('seal', 'keys');
  check.distinct(keys, 'id', 'the ids of the other keys');
  const rule = `must be base64 of ${sealKeyBytes} bytes, for example from: openssl rand -base64 32`;
  const problemOf = (value: string) => (isSealKey(value) ? null : rule);
  check.secretsOf(keys, 'value', problemOf, (first) => `is the same key as ${first}`);
}
