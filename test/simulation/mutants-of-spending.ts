import type { Mutant } from './mutant.ts';

const schema = 'store/sqlite/migrations/0001_outbox.sql';
const sums = 'buying/spending/spending-sql.ts';

/** Bugs that spend above a limit, hold what is under it, or tell another sum than was moved. */
export const mutantsOfSpending: readonly Mutant[] = [
  {
    name: 'nothing is reserved for an order that is open',
    file: sums,
    changes: [['SELECT coalesce(sum(e.reserved), 0) AS millionths', 'SELECT 0 AS millionths']],
  },
  {
    name: 'a limit counts by calendar hours and days',
    file: 'buying/spending/limits.ts',
    changes: [['steadyMs - windowMs;', 'Math.floor(steadyMs / windowMs) * windowMs;']],
  },
  {
    name: 'the last cost of a plan is that of any number of days',
    file: 'buying/spending/unit-costs-sql.ts',
    changes: [
      [
        'WHERE product = ? AND days = ? AND currency = ?',
        'WHERE product = ? AND ? >= 0 AND currency = ?',
      ],
    ],
  },
  {
    name: 'what is reserved is lost at a kill',
    file: schema,
    changes: [
      [
        "OR NEW.state = 'rejected' OR NEW.state = 'expired' OR NEW.state = 'cancelled' OR NEW.state = 'fulfilled'",
        "OR NEW.outcome_row = 'crashed' OR NEW.state = 'rejected' OR NEW.state = 'expired' OR NEW.state = 'cancelled' OR NEW.state = 'fulfilled'",
      ],
    ],
  },
  {
    name: 'what is reserved is kept at a kill',
    file: schema,
    changes: [
      [
        'WHEN NEW.reserved IS NOT NULL AND (NEW.cost IS NOT NULL',
        "WHEN NEW.reserved IS NOT NULL AND OLD.outcome_row IS NOT 'crashed' AND (NEW.cost IS NOT NULL",
      ],
    ],
  },
  {
    name: 'what is reserved is freed twice, by itself and by the charge',
    file: schema,
    changes: [
      [
        'AS INTEGER) - coalesce(sum(millionths), 0),',
        'AS INTEGER) - coalesce(sum(millionths), NEW.reserved, 0),',
      ],
    ],
  },
  {
    name: 'a kept sum has nothing of what was charged since',
    file: sums,
    changes: [['- sum(last.since, since) + sum(last.until, until)', '- sum(last.since, since)']],
  },
  {
    name: 'a kept sum keeps what has left its window',
    file: sums,
    changes: [['- sum(last.since, since) + sum(last.until, until)', '+ sum(last.until, until)']],
  },
  {
    name: 'a refunded order gives nothing back',
    file: schema,
    changes: [["AND NEW.state = 'refunded';", "AND NEW.state = 'placed';"]],
  },
  {
    name: 'a cost that no answer shows is nothing, and is not listed',
    file: schema,
    changes: [
      [
        'WHERE NEW.state <> OLD.state AND NEW.cost IS NULL',
        "WHERE NEW.state <> OLD.state AND NEW.cost = 'none'",
      ],
    ],
  },
];
