import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { attentionKinds } from '../../src/store/read/attention.ts';
import { usualAdminAddress } from '../../src/admin/settings.ts';
import { measuredOutbox } from '../support/measured-outbox.ts';
import { projectRoot } from './shell-commands.ts';

const read = (name: string): string => readFileSync(join(projectRoot, name), 'utf8');
const rulesSchema = z.object({
  groups: z.array(
    z.object({
      rules: z.array(
        z.object({
          alert: z.string(),
          expr: z.string(),
          annotations: z.object({ runbook_url: z.string() }),
        }),
      ),
    }),
  ),
});
const rules = rulesSchema
  .parse(parse(read('deploy/prometheus/order-sync.rules.yml')))
  .groups.flatMap((group) => group.rules);
const dashboardSchema = z.object({
  panels: z.array(
    z.object({ title: z.string(), targets: z.array(z.object({ expr: z.string() })) }),
  ),
});

/** The names of all series that the worker has, also of those that have no value yet. */
async function knownSeries(): Promise<ReadonlySet<string>> {
  const { metrics } = await measuredOutbox();
  const text = await metrics.text();
  return new Set([...text.matchAll(/^(?:# TYPE )?([a-z_]\w*)[{ ]/gm)].map(([, name = '']) => name));
}

const seriesIn = (expr: string): string[] =>
  expr.match(/\b(?:order_sync|nodejs|process)_\w+/g) ?? [];

describe('the alert rules', () => {
  it('have a section in the runbook each, and the runbook has no other', () => {
    const sections = [...read('docs/runbook.md').matchAll(/^## (\w+)$/gm)].map(([, name]) => name);
    expect(sections).toEqual(rules.map(({ alert }) => alert));
    for (const { alert, annotations } of rules)
      expect(annotations.runbook_url).toBe(
        `https://docs.example.com/order-sync/runbook.md#${alert.toLowerCase()}`,
      );
  });

  it('are about every kind of the attention list, each once', () => {
    const kinds = rules.flatMap(({ expr }) =>
      [...expr.matchAll(/order_sync_attention\{kind=~?"([^"]+)"\}/g)].flatMap(([, names = '']) =>
        names.split('|'),
      ),
    );
    // Pauses have metrics of their own.
    const ofPauses = rules.some(({ expr }) => expr.includes('order_sync_paused_scopes'));
    expect([...kinds, ...(ofPauses ? ['pause'] : [])].toSorted()).toEqual(
      attentionKinds.toSorted(),
    );
  });

  it('come with a target that is not Prometheus itself', () => {
    const example = read('deploy/prometheus/prometheus.yml');
    const port = usualAdminAddress.replace(/.*:/, '');
    expect(/targets: \['127\.0\.0\.1:(\d+)'\]/.exec(example)?.[1]).toMatch(/^\d+$/);
    expect(example).not.toContain(`:${port}'`);
  });

  it('use only metrics that exist', async () => {
    const known = await knownSeries();
    expect(rules.flatMap(({ expr }) => seriesIn(expr)).filter((name) => !known.has(name))).toEqual(
      [],
    );
  });
});

it('the dashboard uses only metrics that exist', async () => {
  const known = await knownSeries();
  const { panels } = dashboardSchema.parse(JSON.parse(read('deploy/grafana/order-sync.json')));
  const used = panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => seriesIn(expr)));
  expect(used.length).toBeGreaterThan(panels.length - 1);
  expect(used.filter((name) => !known.has(name))).toEqual([]);
});

const submitted = 'order_sync_attempts_total{instance="b", purpose="submit"}';
const hasPromtool = spawnSync('promtool', ['--version']).status === 0;

/** Values of two workers over an hour, and the alerts that fire at the end of it. */
const cases = `
rule_files: [RULES]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      # Worker a buys nothing, while a product of it is paused; worker b buys.
      - { series: 'order_sync_ready_entries{instance="a"}', values: '3x60' }
      - { series: 'order_sync_ready_entries{instance="b"}', values: '5x60' }
      - { series: 'order_sync_paused_scopes{instance="a", kind="product"}', values: '1x60' }
      - { series: 'order_sync_paused_scopes{instance="a", kind="account"}', values: '0x60' }
      - { series: '${submitted}', values: '0+10x60' }
      # Worker a loses most of its lines, worker b none.
      - { series: 'order_sync_entries_settled_total{instance="a", state="rejected"}', values: '0+1x60' }
      - { series: 'order_sync_entries_settled_total{instance="b", state="fulfilled"}', values: '0+90x60' }
      # These came while nobody looked.
      - { series: 'order_sync_attention{instance="a", kind="expired"}', values: '2x60' }
      - { series: 'order_sync_build_info{instance="a"}', values: '1x60' }
    alert_rule_test:
      - eval_time: 59m
        alertname: OrderSyncNothingBought
        exp_alerts:
          - exp_labels: { severity: critical, instance: a }
            exp_annotations:
              summary: "a: 3 order lines are due, and none was sent for 15 minutes."
              runbook_url: "https://docs.example.com/order-sync/runbook.md#ordersyncnothingbought"
      - eval_time: 59m
        alertname: OrderSyncManyRefused
        exp_alerts:
          - exp_labels: { severity: critical, instance: a }
            exp_annotations:
              summary: "a: more than a fifth of the lines of the last 30 minutes were not bought: about 30."
              runbook_url: "https://docs.example.com/order-sync/runbook.md#ordersyncmanyrefused"
      - eval_time: 59m
        alertname: OrderSyncPaidOrderRefused
        exp_alerts:
          - exp_labels: { severity: warning, instance: a, kind: expired }
            exp_annotations:
              summary: "2 paid lines were not bought (expired): their customers get nothing."
              runbook_url: "https://docs.example.com/order-sync/runbook.md#ordersyncpaidorderrefused"
      - { eval_time: 59m, alertname: OrderSyncMissing, exp_alerts: [] }
  - interval: 1m
    input_series:
      - { series: 'prometheus_build_info', values: '1x60' }
    alert_rule_test:
      - eval_time: 30m
        alertname: OrderSyncMissing
        exp_alerts:
          - exp_labels: { severity: critical }
            exp_annotations:
              summary: "Prometheus scrapes no worker: its target is wrong, or the worker is down."
              runbook_url: "https://docs.example.com/order-sync/runbook.md#ordersyncmissing"
`;

it.skipIf(!hasPromtool)(
  'the alert rules look at each worker by itself, and at no worker at all (skipped where promtool is absent)',
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'order-sync-rules-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'cases.yml');
    const rulesFile = join(projectRoot, 'deploy/prometheus/order-sync.rules.yml');
    writeFileSync(file, cases.replace('RULES', JSON.stringify(rulesFile)));
    const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], {
      encoding: 'utf8',
    });
    expect([status, `${stdout}${stderr}`]).toEqual([0, expect.stringContaining('SUCCESS')]);
  },
);
