import type { Command } from 'commander';
import type { CatalogueFacts } from '../../wholesale/catalogue/check-sku.ts';
import { checkSku } from '../../wholesale/catalogue/check-sku.ts';
import type { Config } from '../../config/config.ts';
import { hasCode, OrderSyncError } from '../../core/order-sync-error.ts';
import { SkuFile } from '../../storefronts/sku-file.ts';
import type { SkuMap } from '../../core/order/sku.ts';
import { createLogger } from '../../ops/logger.ts';
import { programVersion } from '../../ops/program-version.ts';
import type { SkuSighting } from '../../store/storefronts/storefront-skus.ts';
import { openReader } from '../../store/read/reader.ts';
import { addConfigOptions, configFrom, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { exitCodes } from '../errors.ts';
import { sendCommand } from '../worker-client.ts';
import { plainText } from '../output.ts';

interface CheckedShop {
  /** Or `hmac`: a home-made shop. */
  readonly platform: string;
  readonly shop: string;
  readonly currency: string | null;
  /** A person is told of each line whose SKU is not in the map. */
  readonly tellsUnmatched: boolean;
  readonly skus: SkuMap;
  readonly sightings: readonly SkuSighting[];
}

interface Finding {
  readonly sku: string;
  readonly code: string;
  readonly message: string;
}

interface ShopFindings {
  readonly platform: string;
  readonly shop: string;
  readonly skus: number;
  /** An order of it would be refused, or a person is told of each. */
  readonly problems: readonly Finding[];
  /** The catalogue does not tell. */
  readonly unknown: readonly Finding[];
  /** What orders had, and the map does not know. */
  readonly unmapped: readonly {
    readonly sku: string;
    readonly orders: number;
    readonly last_order_id: string | null;
    readonly last_seen_at: string | null;
  }[];
}

/** A big catalogue on a small budget; a little less than the worker is waited for. */
const readWithinMs = 240_000;

export function addSkus(program: Command, context: CliContext): void {
  const skus = program.command('skus').description('what the SKUs of the shops stand for');
  const check = skus
    .command('check')
    .description('compare the SKU maps with the catalogue and with the orders that came; buys nothing')
    .option('--offline', 'only with the orders that came: no call to the API')
    .option('--json', 'print JSON');
  addConfigOptions(check).action(async (options: ConfigOptions & { offline?: boolean; json?: boolean }) => {
    const { config } = configFrom(options);
    const shops = shopsOf(config, context);
    const catalogue = options.offline ? notRead : await readCatalogue(config, shops, context);
    const findings = shops.map((shop) => findingsOf(shop, catalogue));
    if (findings.some(({ problems }) => problems.length > 0)) context.setExitCode(exitCodes.problemsFound);
    if (options.json) context.stdout.write(`${JSON.stringify({ shops: findings })}\n`);
    else for (const shop of findings) context.stdout.write(asText(shop));
  });
}

const offline = 'the catalogue was not read (--offline)';
const notRead: CatalogueFacts = { products: [], plans: [], productsProblem: offline, plansProblem: offline };

/** @throws OrderSyncError CONFIG_INVALID when a map cannot be used, NOT_FOUND when no shop has one */
function shopsOf(config: Config, { clock, stderr }: CliContext): CheckedShop[] {
  const { shops, webhook } = config.intake;
  const options = { level: 'silent', format: 'json', version: programVersion, instance: config.instance } as const;
  const logger = createLogger(options, stderr);
  const all = [
    ...shops.map(({ platform, shop, source, skuMap, currency = null, unmatched }) => {
      return { platform, shop, source, skuMap, currency, tellsUnmatched: unmatched === 'hold' };
    }),
    ...(webhook?.hmac ?? []).flatMap(({ name, source, form }) => {
      if (form === null || form.skuMap === null) return [];
      const { skuMap, currency } = form;
      // What such a shop sends and the map does not know is refused, or ignored: no person is told.
      return [{ platform: 'hmac', shop: name, source, skuMap, currency, tellsUnmatched: false }];
    }),
  ];
  if (all.length === 0) {
    throw new OrderSyncError('NOT_FOUND', 'No shop with a SKU map is configured', {
      hint: 'see docs/storefronts.md',
    });
  }
  return all.map(({ source, skuMap, ...shop }) => {
    // Orders of a source that several shops share say nothing about one shop's map.
    const isOwn = source !== null && all.filter((other) => other.source === source).length === 1;
    const skus = new SkuFile(skuMap, clock, logger).current();
    return { ...shop, skus, sightings: isOwn ? sightingsOf(config, source) : [] };
  });
}

/** Before the first start there is no database, and no orders either. */
function sightingsOf(config: Config, source: string): readonly SkuSighting[] {
  try {
    const reader = openReader(config.databasePath);
    try {
      return reader.skuSightings(source);
    } finally {
      reader.close();
    }
  } catch (error) {
    if (hasCode(error, 'DATABASE_MISSING')) return [];
    throw error;
  }
}

async function readCatalogue(
  config: Config,
  shops: readonly CheckedShop[],
  context: CliContext,
): Promise<CatalogueFacts> {
  const variants = new Set<string>();
  const plans = new Set<string>();
  for (const sku of shops.flatMap((shop) => [...shop.skus.values()])) {
    if (sku.type === 'gift_card_order') variants.add(sku.variant);
    // Top-ups are listed by eSIM: there is nothing to look for.
    else if (sku.type === 'esim_order') plans.add(sku.plan);
  }
  const question = { variants: [...variants], plans: [...plans], withinMs: readWithinMs };
  const result = await sendCommand(config, { action: 'read_catalogue', ...question }, context);
  if (result.kind !== 'catalogue') throw new OrderSyncError('INVARIANT', 'The worker answered another command');
  const problems = [
    ...(variants.size > 0 ? [result.products.length === 0 ? result.productsProblem : null] : []),
    ...(plans.size > 0 ? [result.plans.length === 0 ? result.plansProblem : null] : []),
  ];
  if (problems.length > 0 && problems.every((problem) => problem !== null)) {
    throw new OrderSyncError('UNREACHABLE', `The catalogue could not be read: ${problems[0]}`, {
      hint: 'try again later, or check with --offline',
    });
  }
  return result;
}

function findingsOf(
  { platform, shop, currency, tellsUnmatched, skus, sightings }: CheckedShop,
  catalogue: CatalogueFacts,
): ShopFindings {
  const problems: Finding[] = [];
  const unknown: Finding[] = [];
  for (const [sku, item] of skus) {
    const verdict = checkSku(item, currency, catalogue);
    if (verdict.kind === 'good') continue;
    const { code, message } = verdict;
    (verdict.kind === 'problem' ? problems : unknown).push({ sku, code, message });
  }
  const unmapped = sightings
    .filter(({ sku, unmappedOrders }) => unmappedOrders > 0 && !skus.has(sku))
    .map(({ sku, unmappedOrders, lastOrderId, lastSeenAt }) => ({
      sku,
      orders: unmappedOrders,
      last_order_id: lastOrderId,
      last_seen_at: lastSeenAt,
    }));
  // What was bought once and is gone from the map now: its next order is not.
  for (const { sku, boughtLines } of sightings) {
    if (boughtLines === 0 || skus.has(sku)) continue;
    problems.push({
      sku,
      code: 'left_the_map',
      message: `was bought ${boughtLines} times and is not in the map any more`,
    });
  }
  if (tellsUnmatched) {
    for (const { sku, orders } of unmapped) {
      problems.push({
        sku,
        code: 'unknown_sku',
        message: `a person is told of each order that has it: ${orders} so far`,
      });
    }
  }
  return { platform, shop, skus: skus.size, problems, unknown, unmapped };
}

const listed = 20;

function asText(shop: ShopFindings): string {
  const { problems, unknown, unmapped } = shop;
  const head = `${shop.platform} ${shop.shop}: ${shop.skus} SKUs, ${problems.length} problems`;
  const lines = [
    head,
    ...problems.map(({ sku, code, message }) => `  problem  ${sku}: ${code}: ${message}`),
    ...unknown.map(({ sku, message }) => `  unknown  ${sku}: ${message}`),
    ...unmapped
      .slice(0, listed)
      .map(({ sku, orders }) => `  not in the map  ${sku === '' ? '(no SKU)' : sku}: in ${orders} orders`),
    ...(unmapped.length > listed ? [`  and ${unmapped.length - listed} more that are not in the map (--json)`] : []),
  ];
  return lines.map((line) => `${plainText(line)}\n`).join('');
}
