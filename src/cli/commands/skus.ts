import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import type { Config } from '../../config/config.ts';
import { normalSku, type SkuMap } from '../../core/order/sku-map.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { readSkuFile } from '../../storefronts/sku-file.ts';
import type { SkuSighting } from '../../store/storefronts/storefront-skus.ts';
import type { CatalogueFacts } from '../../wholesale/catalogue/catalogue-item.ts';
import { checkSku } from '../../wholesale/catalogue/check-sku.ts';
import { addAnswerOptions, configFrom, readOutbox, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { exitCodes } from '../errors.ts';
import { sendCommand } from '../worker-client.ts';
import { plainLines, writeAnswer, sayWhatTakesLong } from '../output.ts';

interface CheckedShop {
  /** Or `folder`: the order files. */
  readonly platform: string;
  readonly shop: string;
  readonly currency: string | null;
  /** Whether each line whose SKU is not in the map is flagged for review. */
  readonly flagsUnmatched: boolean;
  readonly skus: SkuMap;
  readonly sightings: readonly SkuSighting[];
  /** Normal forms of sighted SKUs that a map had. */
  readonly before: readonly string[];
}

interface Finding {
  readonly sku: string;
  readonly code: string;
  readonly message: string;
}

type ShopFindings = ReturnType<typeof findingsOf>;

/**
 * Enough for a large catalogue on a small budget; less than the command line waits for the worker.
 */
const readWithinMs = 240_000;

export function addSkus(program: Command, context: CliContext): void {
  const skus = program.command('skus');
  const check = skus
    .command('check')
    .description('compare the SKU maps with the catalogue and with the orders so far; buys nothing')
    .option('--offline', 'compare only with the orders so far, without a call to the API');
  addAnswerOptions(check).action(async (options: ConfigOptions & { offline?: boolean }) => {
    const { config } = await configFrom(options);
    const shops = shopsOf(config);
    const isRead = options.offline !== true;
    if (isRead)
      sayWhatTakesLong(
        context,
        options,
        'waiting: the worker reads the catalogue within its call budget',
      );
    const catalogue = isRead ? await readCatalogue(config, shops, context) : notRead;
    const findings = shops.map((shop) => findingsOf(shop, catalogue));
    if (findings.some(({ problems }) => problems.length > 0))
      context.setExitCode(exitCodes.problemsFound);
    writeAnswer(context, options, { shops: findings }, findings.map(asText).join(''));
  });
}

const offline = 'the catalogue was not read (--offline)';
const notRead: CatalogueFacts = {
  products: [],
  plans: [],
  productsProblem: offline,
  plansProblem: offline,
};

/**
 * @throws OrderSyncError CONFIG_INVALID when a map cannot be used, NOT_FOUND when no shop has one
 */
function shopsOf(config: Config): CheckedShop[] {
  const { shops, folders, webhook } = config.intake;
  const ofHttp = {
    platform: 'http',
    name: 'webhook',
    source: null,
    currency: null,
    skuMap: webhook?.skuMap ?? null,
  };
  const mapped = [...folders, ofHttp].flatMap(({ skuMap, ...way }) =>
    skuMap === null
      ? []
      : [{ platform: 'folder', ...way, shop: way.name, skuMap, unmatched: null }],
  );
  const all = [...shops, ...mapped];
  if (all.length === 0) {
    throw new OrderSyncError('NOT_FOUND', 'No SKU map is configured', {
      hint: 'see docs/storefronts.md',
    });
  }
  return all.map(({ platform, shop, source, skuMap, currency = null, unmatched }) => {
    // The orders of a source that several shops share say nothing about the map of one of them.
    const isOwn = source !== null && all.filter((other) => other.source === source).length === 1;
    const { map: skus } = readSkuFile(skuMap);
    // Before the first start there is no database, and no orders either.
    const isKnown = isOwn && existsSync(config.databasePath);
    const sightings = isKnown
      ? readOutbox(config.databasePath, (reader) => reader.skuSightings(source))
      : [];
    const asked = {
      source: source ?? '',
      skus: JSON.stringify(sightings.map(({ sku }) => normalSku(sku))),
    };
    const before = isKnown
      ? readOutbox(config.databasePath, (reader) => reader.mappedBefore(asked))
      : [];
    return {
      platform,
      shop,
      currency,
      flagsUnmatched: unmatched === 'review',
      skus,
      sightings,
      before,
    };
  });
}

async function readCatalogue(
  config: Config,
  shops: readonly CheckedShop[],
  context: CliContext,
): Promise<CatalogueFacts> {
  const skus = shops.flatMap((shop) => [...shop.skus.values()]);
  const variants = [
    ...new Set(skus.flatMap((sku) => (sku.type === 'gift_card_order' ? [sku.variant] : []))),
  ];
  // The API lists top-ups by eSIM: there is nothing to look up.
  const plans = [...new Set(skus.flatMap((sku) => (sku.type === 'esim_order' ? [sku.plan] : [])))];
  const asked = { variants, plans, withinMs: readWithinMs };
  const result = await sendCommand(
    config,
    { action: 'read_catalogue', ...asked },
    'catalogue',
    context,
  );
  const problems = [
    ...(variants.length > 0 ? [result.products.length === 0 ? result.productsProblem : null] : []),
    ...(plans.length > 0 ? [result.plans.length === 0 ? result.plansProblem : null] : []),
  ];
  if (problems.length > 0 && problems.every((problem) => problem !== null)) {
    throw new OrderSyncError('UNREACHABLE', `The catalogue could not be read: ${problems[0]}`, {
      hint: 'try again later, or check with --offline',
    });
  }
  return result;
}

function findingsOf(
  { platform, shop, currency, flagsUnmatched, skus, sightings, before }: CheckedShop,
  catalogue: CatalogueFacts,
) {
  /** SKUs whose orders would be rejected, or flagged for review. */
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
  // A SKU that was bought before and is not in the map any more: its next order is not bought.
  for (const { sku, boughtLines } of sightings.filter(
    (it) => it.boughtLines > 0 && !skus.has(it.sku),
  )) {
    const message = `was bought ${boughtLines} times and is not in the map any more`;
    problems.push({ sku, code: 'left_the_map', message });
  }
  for (const { sku, orders } of unmapped) {
    const why = skus.whyOurs(sku, before);
    if (why === null && !flagsUnmatched) continue;
    const message = `${why === null ? '' : `${why}: `}each order that has it is flagged for review: ${orders} so far`;
    problems.push({ sku, code: 'unknown_sku', message });
  }
  return { platform, shop, skus: skus.size, problems, unknown, unmapped };
}

function asText(shop: ShopFindings): string {
  const { problems, unknown, unmapped } = shop;
  const head = `${shop.platform} ${shop.shop}: ${shop.skus} SKUs, ${problems.length} problems`;
  const lines = [
    head,
    ...problems.map(({ sku, code, message }) => `  problem  ${sku}: ${code}: ${message}`),
    ...unknown.map(({ sku, message }) => `  unknown  ${sku}: ${message}`),
    ...unmapped.map(
      ({ sku, orders }) =>
        `  not in the map  ${sku === '' ? '(no SKU)' : sku}: in ${orders} orders`,
    ),
  ];
  return plainLines(lines);
}
