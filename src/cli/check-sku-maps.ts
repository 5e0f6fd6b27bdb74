import type { Config, LoadedConfig } from '../config/config.ts';
import { ConfigInvalidError } from '../config/config-issue.ts';
import { mistakesOfSkuFile } from '../storefronts/sku-file.ts';

/**
 * Checks that a worker could start with the SKU maps that the configuration names.
 * @throws ConfigInvalidError with every mistake of all maps, each with its file and line
 */
export function checkSkuMaps({ file, config }: LoadedConfig): void {
  const issues = [...skuMapsOf(config)].flatMap((map) =>
    mistakesOfSkuFile(map).map(({ line, path, rule }) => {
      return { place: line === null ? map : `${map}:${line}`, path, problem: rule };
    }),
  );
  if (issues.length > 0) throw new ConfigInvalidError(`A SKU map of ${file}`, issues);
}

/** Those of shops and of order files. */
function skuMapsOf({ intake }: Config): ReadonlySet<string> {
  const { shops, folder } = intake;
  const all = [...shops.map(({ skuMap }) => skuMap), folder.skuMap];
  return new Set(all.filter((path) => path !== null));
}
