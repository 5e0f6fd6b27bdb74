import type { Evidence, JudgedPause } from './judge-call.ts';
import { columnOf, statementOf, type Sqlite } from '../../store/sqlite/database.ts';
import type { ScopeChange, ScopeFindings } from './judge-call.ts';
import {
  endPause,
  forgetEvidence,
  postponeProbe,
  readPauses,
  recordPause,
} from '../../store/entries/pauses.ts';

/** Older evidence does not count: failures an hour apart are no run. */
const countedForMs = 3_600_000;
/** So much evidence against a scope is enough for every rule. */
const mostOfScope = 20;

type EvidenceKey = Readonly<Record<'scope' | 'reason', string>>;

const find = statementOf<{ scopes: string; sinceMs: number }, Evidence>(
  `SELECT scope, reason, entry_id AS entryId, product FROM scope_evidence
   WHERE scope IN (SELECT value FROM json_each(:scopes)) AND at_steady > :sinceMs`,
);
const countOf = columnOf<[string, string], number>(
  'SELECT count(*) FROM scope_evidence WHERE scope = ? AND reason = ?',
);
const hasAny = columnOf<[], 0 | 1>('SELECT EXISTS (SELECT 1 FROM scope_evidence)');
const insert = statementOf<
  EvidenceKey & { entryId: number; product: string | null; steadyMs: number },
  never
>(
  `INSERT INTO scope_evidence (scope, reason, entry_id, product, at_steady)
   VALUES (:scope, :reason, :entryId, :product, :steadyMs)
   ON CONFLICT (scope, reason, entry_id) DO UPDATE SET at_steady = excluded.at_steady`,
);
const removeOldest = statementOf<EvidenceKey, never>(
  `DELETE FROM scope_evidence WHERE scope = :scope AND reason = :reason AND entry_id = (
     SELECT entry_id FROM scope_evidence WHERE scope = :scope AND reason = :reason ORDER BY at_steady, entry_id LIMIT 1)`,
);

/** The evidence against these scopes until now. */
export function readScopeFindings(
  database: Sqlite,
  scopes: readonly string[],
  steadyMs: number,
): ScopeFindings {
  const pauses: readonly JudgedPause[] = readPauses(database).filter(({ scope }) =>
    scopes.includes(scope),
  );
  const evidence = find(database).all({
    scopes: JSON.stringify(scopes),
    sinceMs: steadyMs - countedForMs,
  });
  return { evidence, pauses };
}

/** Returns whether a pause was opened, postponed or ended. Called inside a transaction. */
export function applyScopeChange(
  database: Sqlite,
  change: ScopeChange,
  { nowMs, steadyMs }: { readonly nowMs: number; readonly steadyMs: number },
): boolean {
  const { forget, remember, open, postpone, end } = change;
  // A success forgets a dozen kinds of evidence, and mostly there is none.
  if (forget.length > 0 && hasAny(database).get() === 1)
    for (const { scope, reason } of forget) forgetEvidence(database).run({ scope, reason });
  for (const { scope, reason, entryId, product } of remember) {
    const count = countOf(database).get(scope, reason) ?? 0;
    if (count >= mostOfScope) removeOldest(database).run({ scope, reason });
    insert(database).run({ scope, reason, entryId, product, steadyMs });
  }
  for (const pause of open) recordPause(database, { ...pause, nowMs });
  for (const { scope, probeAtMs } of postpone) postponeProbe(database, scope, probeAtMs);
  for (const { scope, why } of end) endPause(database, scope, why, nowMs);
  return open.length + postpone.length + end.length > 0;
}
