import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { runCommandLine } from '../../src/cli/commands/program.ts';
import { SystemClock } from '../../src/ops/system-clock.ts';
import { Installation } from '../support/worker-process.ts';

export const good = `
  STEAM: { type: gift_card_order, variant: steam-usd-20 }
  DAILY: { type: esim_order, plan: es-daily-unlimited, days: 3 }
  TOPUP: { type: esim_topup, plan: es-1gb-7d }
`;
export const bad = `
  TYPO: { type: gift_card_order, variant: steam-usd-21 }
  WEB: { type: gift_card_order, variant: test-website-only }
  EURO: { type: gift_card_order, variant: test-usd-only, currency: EUR }
  MANY: { type: gift_card_order, variant: steam-usd-100, quantity: 11 }
  NODAYS: { type: esim_order, plan: es-daily-1gb }
  LONG: { type: esim_order, plan: es-daily-unlimited, days: 16 }
  CROWD: { type: esim_order, plan: es-1gb-7d, quantity: 31 }
  GONE: { type: esim_order, plan: es-2gb-7d }
`;

interface Findings {
  problems: { sku: string; code: string }[];
  unknown: { sku: string; code: string }[];
  unmapped: { sku: string; orders: number }[];
}

export async function installationWith(
  skus: string,
  options: Parameters<typeof Installation.open>[0] = {},
  more = {},
): Promise<Installation> {
  const shop = {
    shop: 'main',
    secrets: [{ value: 'a-secret-of-the-shop' }],
    sku_map: 'SKUS',
    ...more,
  };
  const place = await Installation.open({ ...options, webhook: { woocommerce: [shop] } });
  onTestFinished(() => place.close());
  const file = join(place.folder, 'skus.yaml');
  writeFileSync(file, `skus:${skus}`);
  writeFileSync(place.configFile, readFileSync(place.configFile, 'utf8').replace('SKUS', file));
  return place;
}

export async function cli(
  place: Installation,
  ...argv: string[]
): Promise<{ code: number; stdout: string; stderr: string }> {
  let stdout = '';
  let stderr = '';
  const code = await runCommandLine([...argv, '--config', place.configFile], {
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: (text) => (stderr += text) },
    clock: new SystemClock(),
  });
  return { code, stdout, stderr };
}

export async function check(
  place: Installation,
  ...argv: string[]
): Promise<Findings & { code: number }> {
  const { code, stdout } = await cli(place, 'skus', 'check', '--json', ...argv);
  const [found]: Findings[] = JSON.parse(stdout).shops;
  if (found === undefined) throw new Error('there is one shop');
  return { ...found, code };
}
