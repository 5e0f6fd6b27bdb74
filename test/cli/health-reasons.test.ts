import { expect, it } from 'vitest';
import { healthReasons } from '../../src/cli/commands/health.ts';
import { sentence } from '../../src/core/message-text.ts';

it('says in a sentence why each check does not pass, and nothing about those that do', () => {
  const since = '2026-11-21T12:00:00.000Z';
  const reasons = healthReasons({
    checks: {
      database: 'pass',
      disk: 'fail',
      submission: 'warn',
      attention: 'warn',
      results: 'warn',
      clock: 'warn',
      sealing: 'warn',
      webhook: 'warn',
      something_new: 'warn',
    },
    details: {
      attention: { rejected: 3, invalid_line: 9, more: true },
      results: { 'callback:shop': { reason: 'http_503', since, waiting: 7 } },
      clock: { ahead_ms: -125_000 },
      sealing: { reason: 'codes are stored in clear', next: 'make a key' },
      webhook: { refused: { connections: 4 } },
    },
    pauses: [{ scope: 'account', reason: 'api_disabled', since, holds_up: 12 }],
    pauses_not_shown: 2,
  });
  expect(reasons).toEqual([
    'The disk of the outbox is nearly full, so no new orders are accepted: free space or enlarge the disk.',
    `Nothing is sent for account since ${since} (api_disabled); 12 entries wait.`,
    '2 more scopes are paused: `order-sync queue status` has them.',
    'The attention list has 3 rejected, 9 invalid_line and more: see `order-sync orders list --attention`.',
    `The sink callback:shop has taken no results since ${since} (http_503); 7 wait.`,
    'The clock of this machine is 125 s behind that of the API: use NTP on this machine.',
    'Codes are stored in clear. Make a key.',
    'Callers were refused in the last minute: 4 connections.',
    'The check something_new is `warn`: the log says why.',
  ]);
});

it('a sentence begins with a capital letter, but no name is changed, and it has one end', () => {
  expect(
    ['the API, too', 'key:main is paused', 'order-sync runs', 'Is it so?', 'two mistakes:'].map(
      sentence,
    ),
  ).toEqual(
    ['The API, too.', 'key:main is paused.', 'order-sync runs.', 'Is it so?', 'two mistakes:'].map(
      (text) => text.replace(/^two/, 'Two'),
    ),
  );
});
