import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/**
 * What a screen reader or a keyboard has trouble with, and by how much the page is wider than the
 * screen. Without JavaScript only the width can be judged: axe waits for timers.
 */
export async function faultsOf(page: Page, judged: 'all' | 'width' = 'all'): Promise<unknown> {
  const over = await page.evaluate(
    'Math.max(0, document.documentElement.scrollWidth - innerWidth)',
  );
  if (judged === 'width') return { faults: [], over };
  await page.evaluate(axe);
  const faults = await page.evaluate(
    `axe.run().then(({ violations }) => violations
      .filter(({ impact }) => impact !== 'minor')
      .map(({ id, nodes }) => id + ': ' + nodes[0]?.html.slice(0, 150)))`,
  );
  return { faults, over };
}
export const faultless = { faults: [], over: 0 };
