import type { Clock } from '../core/clock.ts';
import { withoutAnswer } from '../core/answers/outcome.ts';
import type { BuyingSteps } from './steps-sql.ts';
import type { Attempt } from './run-call.ts';

/**
 * Closes the attempts that an earlier process left open. Their calls may have been processed, so
 * their outcome is unknown. The earlier process is dead, because this one holds the writer lock, and
 * this one has opened none yet.
 * Safe to repeat after a crash. Returns how many attempts were closed.
 */
export async function recoverOpenAttempts(deps: {
  steps: BuyingSteps;
  attempts: Attempt;
  clock: Clock;
}): Promise<number> {
  const open = await deps.steps.attemptsLeftOpen();
  for (const attempt of open) {
    const outcome = withoutAnswer(
      'crashed',
      true,
      'the worker stopped while the call was in flight',
    );
    const settlement =
      attempt.purpose === 'submit'
        ? deps.attempts.decideSubmission(attempt, outcome)
        : deps.attempts.decideLookup(attempt, { kind: 'failed', outcome });
    await deps.steps.closeAttempt({
      attemptId: attempt.attemptId,
      entryId: attempt.entry.id,
      nowMs: deps.clock.wallMs(),
      steadyMs: deps.clock.steadyMs(),
      durationMs: null,
      outcome,
      settlement,
      // Its slots were settled when the budget was restored.
      slotsSettledMs: deps.clock.steadyMs(),
      pause: null,
    });
  }
  return open.length;
}
