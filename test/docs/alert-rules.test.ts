import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
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
