import { drawPlan } from './draw-plan.ts';
import type { RunPlan } from './run-plan.ts';
import type { SimDisk } from './sim-disk.ts';
import { World, type Violation } from './world.ts';

export interface RunReport {
  readonly name: string;
  readonly violations: readonly Violation[];
  readonly hash: string;
  readonly trace: readonly string[];
  readonly coverage: readonly (readonly [string, number])[];
  /** How many port calls the run made. */
  readonly ports: number;
  readonly world: World;
}

export async function runPlan(plan: RunPlan, disk: SimDisk, keepTrace = false): Promise<RunReport> {
  const world = new World(plan, disk, keepTrace);
  await world.run();
  return {
    name: plan.name,
    violations: world.violations,
    hash: world.trace.hash,
    trace: world.trace.lines,
    coverage: [...world.coverage.counts],
    ports: world.ports,
    world,
  };
}

export function runSeed(seed: number, disk: SimDisk, keepTrace = false): Promise<RunReport> {
  return runPlan(drawPlan(seed), disk, keepTrace);
}
