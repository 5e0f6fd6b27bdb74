import type { RunPlan } from './run-plan.ts';

/** How long a lookup after a loss takes with its repetitions, with all that may come of it before the next. */
const oneLookupMs = 60_000;

/** When everything must have come to rest: 30 minutes after the faults, and the time of the queue. */
export function restMs(plan: RunPlan): number {
  const { limits, exposureCap } = plan.settings;
  const lines = plan.batches.flatMap((batch) => batch.lines);
  const queueMs = (lines.length + plan.followUps.length) * 12 * Math.ceil(limits.windowMs / limits.orders);
  const jumpedMs = plan.wallJumps.reduce((sum, jump) => sum + Math.abs(jump.deltaMs), 0);
  // After a loss no more than the exposure cap are looked up at a time, and with them each part that may be bought.
  const parts = lines.map((line) => (line.rules?.partial === true ? 15 : 2)).reduce((sum, count) => sum + count, 0);
  const lookedUpMs = plan.looksFirst ? (parts * oneLookupMs) / exposureCap : 0;
  return plan.faultsOffMs + 1_800_000 + queueMs + jumpedMs + lookedUpMs;
}
