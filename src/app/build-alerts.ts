import { runChecks, type HealthCheck } from '../admin/health-server.ts';
import type { Lifecycle } from '../ops/lifecycle.ts';
import { AlertLoop } from '../results/alerts/alert-loop.ts';
import type { Store } from '../store/store.ts';
import type { WorkerDeps } from './worker-deps.ts';

/** Starts to post alerts to each endpoint that is configured. */
export async function startAlerts(
  { config, clock, random, version, logger: parent }: WorkerDeps,
  life: Lifecycle,
  { store, checks }: { store: Store; checks: readonly HealthCheck[] },
): Promise<void> {
  const { instance, alerts } = config;
  await store.alerts.keep(alerts.map(({ name }) => name));
  const logger = parent.child({ component: 'alerts' });
  const failingChecks = async (): Promise<readonly string[]> =>
    Object.entries(await runChecks(checks))
      // A backup that failed is only a warning of health, but nobody looks there before it is needed.
      .filter(([name, status]) => status === 'fail' || (name === 'upkeep' && status === 'warn'))
      .map(([name]) => name);
  for (const settings of alerts) {
    const loop = new AlertLoop(settings, { store, clock, random, logger, version, instance, failingChecks });
    await life.push(`alerts to ${settings.name}`, () => loop.stop());
    loop.start();
  }
}
