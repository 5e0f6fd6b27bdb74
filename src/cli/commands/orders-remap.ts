import type { Config } from '../../config/config.ts';
import { takeFlaggedCommandSchema } from '../../core/operator/operator-command.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { orderedText } from '../../core/order/purchase.ts';
import { lineForFlag, newRequestFor, type MapOfLine } from '../../storefronts/remapped-lines.ts';
import { readSkuFile } from '../../storefronts/sku-file.ts';
import type { MappedLine } from '../../store/read/mapped-lines.ts';
import type { FlaggedSku } from '../../store/storefronts/flagged-skus.ts';
import { configFrom, withReader, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { writeAnswer } from '../output.ts';
import { cliActor, sendCommand } from '../worker-client.ts';

interface RemapOptions extends ConfigOptions {
  readonly reason: string;
  readonly confirm: string;
}

interface Plan {
  readonly was: string;
  readonly is: string;
  /** Orders it. Returns the new reference. */
  readonly order: () => Promise<string | null | undefined>;
}

/**
 * Orders anew what a wrong SKU map has asked for, or has not known. Without `--confirm` it only shows both requests.
 * @param id the reference of an entry, or `line:17` from the attention list
 */
export async function remap(id: string, options: RemapOptions, context: CliContext): Promise<void> {
  const { config } = await configFrom(options);
  const { line, flag } = await withReader(options, (reader) => ({
    line: reader.mappedLine(id),
    flag: reader.flaggedSku(id),
  }));
  if (line === null && flag === null) {
    throw new OrderSyncError('NOT_FOUND', `"${id}" is no reference, and no open flag for a SKU of a shop's order`, {
      hint: '`order-sync queue status` shows what can be ordered anew',
    });
  }
  const who = { actor: cliActor(), reason: options.reason };
  const planning = { config, who, context };
  const { was, is, order } = line === null ? planFlag(flag, planning) : planLine(line, planning);
  if (options.confirm !== id) {
    const text = `${id} was: ${was}\n${' '.repeat(id.length)}  is: ${is}\nnothing was changed; order it with --confirm ${id}\n`;
    return writeAnswer(context, options, { id, was, is, new_reference: null }, text);
  }
  const reference = await order();
  writeAnswer(context, options, { id, was, is, new_reference: reference }, `${id} is ordered as ${reference}: ${is}\n`);
}

interface Planning {
  readonly config: Config;
  readonly who: { readonly actor: string; readonly reason: string };
  readonly context: CliContext;
}

function planLine(line: MappedLine, { config, who, context }: Planning): Plan {
  const { reference } = line;
  const map = mapOf(line, config);
  const as = newRequestFor(line, map, readSkuFile(map.skuMap).map, context.clock.wallMs());
  const command = { action: 'reorder', reference, confirm: reference, as, ...who } as const;
  const order = async () => (await sendCommand(config, command, 'entry', context)).newReference;
  return { was: orderedText(line, line.rules), is: orderedText(as, as.rules), order };
}

function planFlag(flag: FlaggedSku | null, { config, who, context }: Planning): Plan {
  const shop = config.intake.shops.find(({ source }) => source === flag?.source);
  if (flag === null || shop === undefined) {
    throw new OrderSyncError('REFUSED', `No shop with the source "${flag?.source}" is configured`, {
      hint: 'configure it again, or order the line with `order-sync submit`',
    });
  }
  const line = lineForFlag(flag, shop, readSkuFile(shop.skuMap).map, context.clock.wallMs());
  const asked = { action: 'take_flagged', id: flag.id, line: { ...line, lineNumber: null }, ...who };
  const command = takeFlaggedCommandSchema.parse(asked);
  const order = async () => (await sendCommand(config, command, 'submitted', context)).lines[0]?.reference;
  return { was: 'nothing: its SKU was not in the map', is: orderedText(line, line.rules ?? {}), order };
}

/** The SKU map by which a line was ordered. */
function mapOf({ reference, source, isFromFile }: MappedLine, { intake }: Config): MapOfLine {
  const shop = intake.shops.find((it) => it.source === source);
  if (shop !== undefined) return { source, currency: shop.currency, skuMap: shop.skuMap, shop };
  const { currency, skuMap } = intake.folder;
  if (isFromFile && skuMap !== null) return { source, currency: currency ?? undefined, skuMap, shop: null };
  throw new OrderSyncError('REFUSED', `No SKU map is configured for ${reference} of the source "${source}"`, {
    hint: 'order it again without --remap, or under a new line id with what is right',
  });
}
