import { dirname, join, resolve } from 'node:path';
import { withAbsolutePaths } from '../storefronts/settings.ts';
import type { ConfigDocument } from './schema.ts';

type WebhookDocument = ConfigDocument['intake']['webhook'];
type CustomerDocument = ConfigDocument['results']['customer'];

/** Adds the defaults that depend on other keys and makes paths absolute. `--explain` shows this document. */
export function withDerivedDefaults(document: ConfigDocument, cwd: string) {
  const absolute = (path: string) => resolve(cwd, path);
  const dataDir = absolute(document.data_dir);
  const { inbox, archive, rejected, sku_map: skuMap, ...folder } = document.intake.folder;
  const secretFile = absolute(document.reference.secret_file ?? join(dataDir, 'reference.secret'));
  return {
    ...document,
    data_dir: dataDir,
    reference: {
      ...document.reference,
      secret_file: secretFile,
      progress_folder: absolute(document.reference.progress_folder ?? dirname(secretFile)),
    },
    intake: {
      ...document.intake,
      folder: {
        inbox: absolute(inbox ?? join(dataDir, 'inbox')),
        archive: absolute(archive ?? join(dataDir, 'archive')),
        rejected: absolute(rejected ?? join(dataDir, 'rejected')),
        ...folder,
        ...(skuMap === undefined ? {} : { sku_map: absolute(skuMap) }),
      },
      webhook: withAbsoluteSkuMaps(document.intake.webhook, absolute),
    },
    backup: { ...document.backup, folder: absolute(document.backup.folder ?? join(dataDir, 'backups')) },
    submit: submitDefaults(document),
    wholesale: withAbsoluteCaFile(document.wholesale, absolute),
    results: {
      ...document.results,
      folder: absolute(document.results.folder ?? join(dataDir, 'results')),
      customer: withAbsoluteTemplates(document.results.customer, absolute),
    },
  };
}

export type ResolvedDocument = ReturnType<typeof withDerivedDefaults>;

function withAbsoluteCaFile(wholesale: ConfigDocument['wholesale'], absolute: (path: string) => string) {
  return wholesale.ca_file === undefined ? wholesale : { ...wholesale, ca_file: absolute(wholesale.ca_file) };
}

/**
 * The budget of every key can be used up while each call takes 10 s: at 20 orders a minute, a key has 3 calls under way
 * then. The rest is for lookups, and for outcomes that are unknown.
 */
function submitDefaults({ submit, wholesale }: ConfigDocument) {
  return { ...submit, concurrency: submit.concurrency ?? 4 + 4 * Math.max(1, wholesale.keys.length) };
}

function withAbsoluteSkuMaps(webhook: WebhookDocument, absolute: (path: string) => string): WebhookDocument {
  return webhook === undefined ? undefined : withAbsolutePaths(webhook, absolute);
}

function withAbsoluteTemplates(customer: CustomerDocument, absolute: (path: string) => string): CustomerDocument {
  if (customer?.templates === undefined) return customer;
  return { ...customer, templates: absolute(customer.templates) };
}

/** What a configuration needs beside its document. */
export interface Readings {
  /** By the path of their key. */
  readonly secrets: ReadonlyMap<string, string>;
  /** The content of `wholesale.ca_file`. */
  readonly ca: string | null;
  /** The number of `results.group`. */
  readonly gid: number | null;
}
