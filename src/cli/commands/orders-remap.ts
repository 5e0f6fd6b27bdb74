import type { Config } from '../../config/config.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { orderedText } from '../../core/order/purchase.ts';
import { newRequestFor, type MapOfLine } from '../../storefronts/remapped-lines.ts';
import { readSkuFile } from '../../storefronts/sku-file.ts';
import type { MappedLine } from '../../store/read/mapped-lines.ts';
import { configFrom, withReader, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { writeAnswer } from '../output.ts';
import { cliActor, sendCommand } from '../worker-client.ts';

interface RemapOptions extends ConfigOptions {
  readonly reason: string;
  readonly confirm: string;
}

/**
 * Orders anew what a wrong SKU map has asked for. Without `--confirm` it only shows both requests.
 */
export async function remap(
  reference: string,
  options: RemapOptions,
  context: CliContext,
): Promise<void> {
  const { config } = await configFrom(options);
  const line = await withReader(options, (reader) => reader.mappedLine(reference));
  if (line === null) {
    throw new OrderSyncError('NOT_FOUND', `"${reference}" is no reference in the outbox`, {
      hint: '`order-sync queue status` shows what can be reordered',
    });
  }
  const map = mapOf(line, config);
  const as = newRequestFor(line, map, readSkuFile(map.skuMap).map, context.clock.wallMs());
  const [was, is] = [orderedText(line, line.rules), orderedText(as, as.rules)];
  if (options.confirm !== reference) {
    const text = `${reference} was: ${was}\n${' '.repeat(reference.length)}  is: ${is}\nnothing was changed; order the new request with --confirm ${reference}\n`;
    return writeAnswer(context, options, { id: reference, was, is, new_reference: null }, text);
  }
  const who = { actor: cliActor(), reason: options.reason };
  const command = { action: 'reorder', reference, confirm: reference, as, ...who } as const;
  const { newReference } = await sendCommand(config, command, 'entry', context);
  const answer = { id: reference, was, is, new_reference: newReference };
  writeAnswer(context, options, answer, `${reference} is ordered as ${newReference}: ${is}\n`);
}

function mapOf({ reference, source, folder }: MappedLine, { intake }: Config): MapOfLine {
  const shop = intake.shops.find((it) => it.source === source);
  if (shop !== undefined) return { source, currency: shop.currency, skuMap: shop.skuMap, shop };
  const { currency = null, skuMap = folder === null ? (intake.webhook?.skuMap ?? null) : null } =
    intake.folders.find(({ name }) => name === folder) ?? {};
  if (skuMap !== null) return { source, currency: currency ?? undefined, skuMap, shop: null };
  throw new OrderSyncError(
    'NOT_ALLOWED',
    `No SKU map is configured for ${reference} of the source "${source}"`,
    {
      hint: 'order the line again without --remap, or send it with a new line id and the right product',
    },
  );
}
