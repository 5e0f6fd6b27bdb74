import type { CrashPlan, RunPlan } from './run-plan.ts';
import { runPlan } from './run-seed.ts';
import type { Scenario } from './scenarios.ts';
import type { CrashKind, SimDisk } from './sim-disk.ts';
import type { World } from './world.ts';

export interface SweepReport {
  readonly runs: number;
  readonly failures: readonly string[];
}

const kinds: readonly CrashKind[] = ['kill', 'power'];
/** The second crash comes during the recovery from the first. */
const portsOfRecovery = 40;

/** What is wrong at the end of a run; null: nothing. */
function wrongEnd(world: World, scenario: Scenario): string | null {
  const [first] = world.violations;
  if (first !== undefined) return `${first.invariant} ${first.sentence}`;
  for (const [name, states] of Object.entries(scenario.ends)) {
    const [lineId = '', orderId = '', source = 'shop'] = name.split('/').toReversed();
    const line = world.results.read(source, orderId)?.lines.find((it) => it.line_id === lineId);
    if (line === undefined) return `${name} has no result`;
    if (!states.some((state) => state === line.state)) return `${name} ended ${line.state}`;
  }
  return null;
}

/**
 * Runs a scenario once to count its port calls, then once for each port call and each kind of
 * crash, with the crash at that call. With `twice`, also with a second crash at each port call of
 * the recovery.
 */
export async function sweep(
  scenario: Scenario,
  disk: SimDisk,
  double: boolean,
): Promise<SweepReport> {
  const failures: string[] = [];
  let runs = 0;
  const run = async (crashes: readonly CrashPlan[]): Promise<number> => {
    runs += 1;
    const plan: RunPlan = { ...scenario.plan, crashes };
    const { world, ports } = await runPlan(plan, disk);
    const wrong = wrongEnd(world, scenario);
    const where = crashes.map((crash) => `${crash.kind} at ${crash.afterPorts}`).join(', then ');
    if (wrong !== null) failures.push(`${plan.name}, ${where}: ${wrong}`);
    return ports;
  };
  const ports = await run([]);
  for (let at = 1; at <= ports; at += 1) {
    for (const kind of kinds) {
      const crash: CrashPlan = { afterPorts: at, kind, downMs: 500 };
      if (!double) {
        await run([crash]);
        continue;
      }
      for (let second = 1; second <= portsOfRecovery; second += 1) {
        await run([
          crash,
          { afterPorts: second, kind: second % 2 === 0 ? 'kill' : 'power', downMs: 500 },
        ]);
      }
    }
  }
  return { runs, failures };
}
