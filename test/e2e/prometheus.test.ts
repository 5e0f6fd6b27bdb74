import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { delivers, refuses } from '../support/fake-api.ts';
import { WorkerWithFakeApi } from '../support/worker-with-fake-api.ts';
import { projectRoot } from '../support/worker-process.ts';

const hasPrometheus =
  spawnSync('prometheus', ['--version']).status === 0 &&
  spawnSync('promtool', ['--version']).status === 0;
const rulesFile = join(projectRoot, 'deploy/prometheus/order-sync.rules.yml');

const promtool = (args: readonly string[], input = '') =>
  spawnSync('promtool', args, { input, encoding: 'utf8' });

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

const alertsSchema = z.object({
  data: z.object({
    alerts: z.array(z.object({ state: z.string(), labels: z.record(z.string(), z.string()) })),
  }),
});

/** A Prometheus that scrapes this address each second, with the alerts that fire. */
async function startPrometheus(target: string) {
  const folder = mkdtempSync(join(tmpdir(), 'order-sync-prometheus-'));
  const port = await freePort();
  // The same rules, without their delays.
  writeFileSync(
    join(folder, 'rules.yml'),
    readFileSync(rulesFile, 'utf8').replaceAll(/^ {8}for: .*$/gm, '        for: 0s'),
  );
  const global = { scrape_interval: '1s', evaluation_interval: '1s' };
  const scrape = { job_name: 'order-sync', static_configs: [{ targets: [target] }] };
  const config = { global, rule_files: ['rules.yml'], scrape_configs: [scrape] };
  writeFileSync(join(folder, 'prometheus.yml'), JSON.stringify(config));
  const child = spawn(
    'prometheus',
    [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: 'ignore' },
  );
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await once(child, 'exit');
    rmSync(folder, { recursive: true, force: true });
  });
  const ask = async (path: string): Promise<unknown> => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`).catch(() => null);
    return answer?.ok === true ? await answer.json() : null;
  };
  return {
    hasScraped: async (): Promise<boolean> =>
      JSON.stringify(await ask('query?query=order_sync_health')).includes('"check"'),
    firing: async (): Promise<readonly string[]> => {
      const answer = await ask('alerts');
      const alerts = answer === null ? [] : alertsSchema.parse(answer).data.alerts;
      return alerts
        .filter(({ state }) => state === 'firing')
        .map(({ labels }) => labels['alertname'] ?? '');
    },
  };
}

describe.skipIf(!hasPrometheus)(
  'Prometheus (skipped where the programs prometheus and promtool are absent)',
  () => {
    it('finds nothing wrong with the rules and the example', () => {
      const config = join(projectRoot, 'deploy/prometheus/prometheus.yml');
      expect(promtool(['check', 'rules', rulesFile])).toMatchObject({ status: 0, stderr: '' });
      expect(promtool(['check', 'config', config])).toMatchObject({ status: 0, stderr: '' });
    });

    it('scrapes a worker, and alerts of a paused account and a refused paid order', {
      timeout: 120_000,
    }, async () => {
      const world = await WorkerWithFakeApi.open({
        variants: {
          card: { behaviour: delivers },
          odd: { behaviour: refuses(422, 'order_refused') },
          off: { behaviour: refuses(503, 'api_disabled') },
        },
      });
      const run: { admin_address: string } = JSON.parse(
        readFileSync(join(world.installation.folder, 'run.json'), 'utf8'),
      );
      const { hasScraped, firing } = await startPrometheus(run.admin_address);
      await world.prove({ variant: 'card' });
      await world.until(hasScraped, 60_000);
      // A new installation has two days for its first backup.
      expect(await firing()).not.toContain('OrderSyncBackupOld');
      expect(await firing()).not.toContain('OrderSyncPaidOrderRefused');
      expect(await firing()).not.toContain('OrderSyncAccountPaused');

      world.order('refused', 1, { variant: 'odd' });
      await world.until(async () => (await firing()).includes('OrderSyncPaidOrderRefused'), 60_000);
      world.order('denied', 1, { variant: 'off' });
      await world.until(async () => (await firing()).includes('OrderSyncAccountPaused'), 60_000);
      expect(await firing()).not.toContain('OrderSyncDown');

      const text = await (await fetch(`http://${run.admin_address}/metrics`)).text();
      expect(promtool(['check', 'metrics'], text)).toMatchObject({
        status: 0,
        stdout: '',
        stderr: '',
      });
    });
  },
);
