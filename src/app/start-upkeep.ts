import type { HealthCheck } from '../admin/health-server.ts';
import type { Lifecycle } from '../ops/lifecycle.ts';
import type { Store } from '../store/store.ts';
import { Upkeep } from './upkeep.ts';
import type { WorkerDeps } from './worker-deps.ts';

/** Starts the upkeep of the database, and adds its check to those of health. */
export async function startUpkeep(
  { config, clock, logger }: WorkerDeps,
  life: Lifecycle,
  { store, checks }: { store: Store; checks: HealthCheck[] },
): Promise<Upkeep> {
  const upkeep = new Upkeep({ config, store, clock, logger: logger.child({ component: 'upkeep' }) });
  checks.push({
    name: 'upkeep',
    readiness: false,
    check: () => upkeep.health(),
    details: () => upkeep.details(),
  });
  await life.push('upkeep', () => upkeep.stop());
  await upkeep.start();
  return upkeep;
}
