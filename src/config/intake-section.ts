import { dirname, join, relative } from 'node:path';
import { z } from 'zod';
import { currencySchema, sourceSchema } from '../core/order/order-request.ts';
import {
  count,
  folderPath,
  groupName,
  keyName,
  listenAddress,
  live,
  secretFile,
  secretText,
  tokenValue,
} from '../core/settings/schema-values.ts';
import { defaultWebhookLimits, tokenScopes } from '../intake/http/settings.ts';
import { csvColumns, plainName } from '../intake/orders/settings.ts';
import { platformSettings, shopLists } from '../storefronts/settings.ts';
import { readCaFile } from './wholesale-section.ts';
import { listOf, section, someSources } from './schema-shapes.ts';
import { checkGroup, type ConfigPath, problemOfText, problemOfWhsec, type SectionCheck } from './section-check.ts';

const folders = ['intake', 'folders'] as const;

const folderKeys = {
  name: keyName.describe('The name of this folder in logs, health and metrics.'),
  inbox: folderPath(
    'Where order files arrive. Default: `<data_dir>/<name>/inbox`, of `folder` `<data_dir>/inbox`. While they are read, files are in `work` beside it, on the same mount.',
  ),
  archive: folderPath('Where files go once their lines are in the outbox. Default: `archive` beside the inbox.'),
  rejected: folderPath(
    'Where rejected files go, each with a `.error.json` that says why. Default: `rejected` beside the inbox.',
  ),
  group: groupName
    .optional()
    .describe(
      'The group that may put files into the inbox and read reports of rejected ones. Else as `results.group`.',
    ),
  ready: z
    .enum(['stable', 'done_file'])
    .default('stable')
    .describe(
      '`stable`: a file is read once it has stopped changing. `done_file`: it also needs `<name>.done` beside it.',
    ),
  source: z
    .union([sourceSchema, someSources.unwrap()])
    .optional()
    .describe(
      'The source of orders in files that name none, or a list of all that they may name. Part of the identity of each line. Default: the name.',
    ),
  currency: currencySchema
    .optional()
    .describe('The balance to charge for orders in files that name none. Unset: each must name one.')
    .meta(live),
  sku_map: folderPath(
    'The SKU map (YAML or CSV) of the column `sku` in CSV files. Unset: that column is carried through.',
  ).meta(live),
  columns: z
    .partialRecord(z.enum(csvColumns), z.string().min(1).max(200).nullable())
    .default({})
    .describe(
      'CSV columns with another name: our column, then its name in the file, or null if the file does not have it.',
    )
    .meta(live),
  format: z
    .string()
    .min(1)
    .max(1000)
    .default('own')
    .describe(
      'Whose exports CSV files are: a file of `config/formats`, such as `shopify_orders`, or one in that form; `own`: of none.',
    )
    .meta(live),
  only: z
    .record(z.string().min(1).max(200), z.array(z.string().max(200)).max(100).nullable())
    .default({})
    .describe(
      'Which rows are bought: a column of the file, then its texts of paid rows, or null if it says nothing about payment.',
    )
    .meta(live),
  unmatched: z
    .enum(['review', 'ignore'])
    .default('review')
    .describe('Rows with a SKU that the map lacks: `review` rejects them, `ignore` takes them for other goods.')
    .meta(live),
  allow_mangled_ids: z
    .boolean()
    .default(false)
    .describe(
      'Accept ids that look changed by a spreadsheet, such as `1E+05`, `12.Jan`, or `27001` where `0027001` is known.',
    )
    .meta(live),
};

export const watchedFolders = z
  .array(z.strictObject(folderKeys))
  .max(100)
  .prefault([{ name: 'folder' }])
  .describe('The watched folders. Default: one, `folder`.');

type WorkFolders = {
  intake: { folders: readonly Record<'inbox' | 'archive' | 'rejected', string>[] };
  results: { folder: string };
};

/** A file that the worker writes into an inbox would be an order again. A file of two folders would be read by either. */
export function checkPaths(check: SectionCheck, { intake, results }: WorkFolders): void {
  const paths = intake.folders.flatMap(({ inbox, archive, rejected }, index) => {
    const at = [...folders, index];
    return [
      { at: [...at, 'inbox'], path: inbox },
      { at: [...at, 'inbox'], path: join(dirname(inbox), 'work') },
      { at: [...at, 'archive'], path: archive },
      { at: [...at, 'rejected'], path: rejected },
    ];
  });
  paths.push({ at: ['results', 'folder'], path: results.folder });
  for (const [index, second] of paths.entries()) {
    for (const first of paths.slice(0, index)) {
      if (relative(first.path, second.path).startsWith('..') && relative(second.path, first.path).startsWith('..'))
        continue;
      const [own, other] = check.at(...second.at) === undefined ? [first, second] : [second, first];
      const problem = `needs a folder outside of the others, got "${own.path}", and ${other.at.join('.')} uses "${other.path}"`;
      check.report(own.at, problem);
    }
  }
}

export function checkFolders(check: SectionCheck): void {
  const listed = check.entries(...folders);
  check.distinct(listed, 'name', 'the names of the other folders');
  const sourcesOf = (at: ConfigPath): readonly unknown[] =>
    [check.at(...at, 'source') ?? check.at(...at, 'name')].flat();
  for (const at of listed) {
    checkGroup(check, ...at, 'group');
    const named = csvColumns.map((name) => ({ name, column: check.at(...at, 'columns', name) }));
    for (const { name, column } of named) {
      const first = named.find(
        (it) => typeof column === 'string' && plainName(String(it.column)) === plainName(column),
      );
      if (first !== undefined && first.name !== name)
        check.report(
          [...at, 'columns', name],
          `names the same column as ${first.name}: one of them must be another one`,
        );
    }
    const column = [...at, 'columns', 'sku'];
    if (typeof check.at(...column) === 'string' && check.at(...at, 'sku_map') === undefined)
      check.report(column, 'needs `sku_map` in the same folder, which says what each SKU stands for');
    const other = listed.find((it) => it !== at && sourcesOf(it).some((one) => sourcesOf(at).includes(one)))?.join('.');
    if (other === undefined || check.at(...at, 'source') !== undefined) continue;
    check.report([...at, 'source'], `must be set, because ${other} has the same source: equal order ids are one order`);
  }
}

const boundSource = sourceSchema
  .optional()
  .describe('The only source whose orders it may post. Unset: any, and orders that name none belong to `webhook`.');

const tokens = listOf(
  100,
  'Bearer tokens, one for each caller. During a rotation, list the old and the new one under the same name.',
  {
    name: keyName.describe('The name of this token in logs and in the audit log.'),
    ...tokenValue,
    scopes: z
      .array(z.enum(tokenScopes))
      .min(1)
      .default([...tokenScopes])
      .describe('What it may do: `post` orders, `read` them with their delivered codes, `cancel` what is unsent.'),
    sources: someSources.describe(
      'The only sources whose orders it may touch; the first is the default. Unset: the source with the name of the token.',
    ),
  },
).meta(live);

const standardWebhooks = listOf(
  100,
  'Secrets of the Standard Webhooks scheme. During a rotation, list the old and the new one.',
  {
    name: keyName.describe('The name of this secret in logs.'),
    secret: secretText('required').describe('`whsec_` and base64 of 24 to 64 bytes.'),
    secret_file: secretFile('the secret'),
    source: boundSource,
  },
).meta(live);

const limits = section('Limits on requests.', {
  body_bytes: count(1, 16_777_216)
    .default(defaultWebhookLimits.bodyBytes)
    .describe('Bytes of one request body. A request has at most 1,000 order lines.'),
  requests_per_minute: count(1, 1_000_000)
    .default(defaultWebhookLimits.requestsPerMinute)
    .describe('Requests in a minute, for each token or secret. A sixth of them may arrive at once.'),
}).meta(live);

export const webhookIntake = z
  .strictObject({
    listen: listenAddress.describe(
      'The address at which the worker receives orders, for example `127.0.0.1:8080`. Port 0: any free port.',
    ),
    tokens,
    standard_webhooks: standardWebhooks,
    ...shopLists,
    limits,
  })
  .optional()
  .describe('Orders over HTTP. Unset: the worker receives no orders over HTTP. See docs/http-api.md.');

const webhook = ['intake', 'webhook'] as const;

/** A caller without a real secret could spend the balance, so each of these rules prevents the start. */
export function checkWebhook(check: SectionCheck): void {
  if (check.at(...webhook) === undefined) return;
  const lists = ['tokens', 'standard_webhooks', ...platformSettings.map(({ name }) => name)];
  if (lists.every((list) => check.entries(...webhook, list).length === 0)) {
    check.report(webhook, `accepts no caller: set at least one of ${lists.join(', ')}`);
  }
  const usedSecrets = new Map<string, string>();
  checkCallers(check, usedSecrets);
  checkShops(check, usedSecrets);
}

/** Only its secret identifies a caller, so two entries must not share one. */
const sharedSecret = () => 'is also the secret of another entry: each entry needs its own';

function checkCallers(check: SectionCheck, usedSecrets: Map<string, string>): void {
  const listed = check.entries(...webhook, 'tokens');
  const signers = check.entries(...webhook, 'standard_webhooks');
  check.rotations(listed, ['scopes', 'sources']);
  const firstOf = listed.filter((at, index) => {
    return listed.findIndex((other) => check.at(...other, 'name') === check.at(...at, 'name')) === index;
  });
  check.distinct([...firstOf, ...signers], 'name', 'the other names of the webhook');
  check.secretsOf(listed, 'value', problemOfText, sharedSecret, usedSecrets);
  check.secretsOf(signers, 'secret', problemOfWhsec, sharedSecret, usedSecrets);
  for (const at of listed) {
    const name = check.at(...at, 'name');
    if (check.at(...at, 'sources') !== undefined || typeof name !== 'string') continue;
    const rule = `this token may only touch orders of the source "${name}"`;
    check.warnings.push(`${at.join('.')}.sources is not set: ${rule}`);
  }
}

/** Two shops must not share a name, a source or a secret: the orders of one could be taken for those of the other. */
function checkShops(check: SectionCheck, usedSecrets: Map<string, string>): void {
  const sources = new Set<unknown>();
  for (const platform of platformSettings) {
    const shops = check.entries(...webhook, platform.name);
    check.distinct(shops, 'shop', "the other shops' names");
    for (const at of shops) {
      const source = check.at(...at, 'source') ?? check.at(...at, 'shop');
      if (typeof source === 'string' && sources.has(source)) {
        const problem = `must differ from the other shops' sources, got "${source}": equal order ids would be mixed up`;
        check.report([...at, 'source'], problem);
      }
      sources.add(source);
      checkRest(check, [...at, 'rest'], platform);
      checkWriteBack(check, at);
      // Only the body is signed: with a shared secret, a body of one shop could be sent to the address of the other.
      check.secretsOf(check.entries(...at, 'secrets'), 'value', problemOfText, sharedSecret, usedSecrets);
    }
  }
  const callers = [...check.entries(...webhook, 'tokens'), ...check.entries(...webhook, 'standard_webhooks')];
  if (sources.size === 0 || (callers.length === 0 && check.entries(...folders).length === 0)) return;
  const shops = [...sources].join(', ');
  check.warnings.push(
    `orders of the shops (${shops}) must not come as files or over HTTP, too: they would be bought twice`,
  );
}

/** Keeps the certificates of each shop's `ca_file` beside its secrets, as `ca`. */
export function readShopCaFiles(check: SectionCheck, cwd: string): void {
  for (const shop of check.entries(...webhook, 'woocommerce')) {
    const pem = readCaFile(check, cwd, [...shop, 'rest', 'ca_file']);
    if (pem !== null) check.secrets.set([...shop, 'rest', 'ca'].join('.'), pem);
  }
}

/** The keys of a shop's API must not cross a network unencrypted, not even to a stand-in for the shop. */
function checkRest(check: SectionCheck, at: ConfigPath, platform: (typeof platformSettings)[number]): void {
  if (check.at(...at) === undefined) return;
  check.encrypted([...at, 'url'], 'the keys of the shop would cross the network');
  const problem = platform.restProblem(
    (key) => check.secret(...at, key) !== undefined || check.at(...at, key) !== undefined,
  );
  if (problem !== null) check.report(at, problem);
}

/** Results are written through the API of the shop, and a written result must not look like an order. */
function checkWriteBack(check: SectionCheck, shop: ConfigPath): void {
  const at = [...shop, 'write_back'];
  if (check.at(...at) === undefined) return;
  if (check.at(...shop, 'rest') === undefined) {
    check.report(at, 'needs `rest`, which is not set: results are written through the API of the shop');
  }
  const iccidField = check.at(...shop, 'iccid_field');
  if (check.at(...at, 'line_meta') === true && String(iccidField).toLowerCase() === 'code') {
    const problem = 'writes delivered codes into the field "Code" of lines';
    check.report(
      [...at, 'line_meta'],
      `${problem}, which iccid_field names as the field of an eSIM: use another name there`,
    );
  }
}
