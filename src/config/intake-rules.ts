import { relative } from 'node:path';
import type { FolderSettings } from '../intake/folder/settings.ts';
import { csvColumns, plainName } from '../intake/orders/settings.ts';
import { platformNames, platformSettings } from '../storefronts/settings.ts';
import {
  checkGroup,
  type ConfigPath,
  problemOfText,
  problemOfWhsec,
  type SectionCheck,
} from './section-check.ts';

const folders = ['intake', 'folders'] as const;

type WorkFolders = {
  intake: { folders: readonly Pick<FolderSettings, 'inbox' | 'work' | 'archive' | 'rejected'>[] };
  results: { folder: string };
};

/**
 * A file that the worker writes into an inbox would be an order again. A file of two folders would
 * be read by either.
 */
export function checkPaths(check: SectionCheck, { intake, results }: WorkFolders): void {
  const paths = intake.folders.flatMap(({ inbox, work, archive, rejected }, index) => {
    const at = [...folders, index];
    return [
      { at: [...at, 'inbox'], path: inbox },
      { at: [...at, 'inbox'], path: work },
      { at: [...at, 'archive'], path: archive },
      { at: [...at, 'rejected'], path: rejected },
    ];
  });
  paths.push({ at: ['results', 'folder'], path: results.folder });
  for (const [index, second] of paths.entries()) {
    for (const first of paths.slice(0, index)) {
      if (
        relative(first.path, second.path).startsWith('..') &&
        relative(second.path, first.path).startsWith('..')
      )
        continue;
      const [own, other] = check.at(...second.at) === undefined ? [first, second] : [second, first];
      const problem = `needs a folder that is not inside another one, got "${own.path}", and ${other.at.join('.')} uses "${other.path}"`;
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
          `names the same column as ${first.name}: give each a column of its own`,
        );
    }
    const column = [...at, 'columns', 'sku'];
    if (typeof check.at(...column) === 'string' && check.at(...at, 'sku_map') === undefined)
      check.report(
        column,
        'needs `sku_map` in the same folder, which says what each SKU stands for',
      );
    const other = listed
      .find((it) => it !== at && sourcesOf(it).some((one) => sourcesOf(at).includes(one)))
      ?.join('.');
    if (other === undefined || check.at(...at, 'source') !== undefined) continue;
    check.report(
      [...at, 'source'],
      `must be set: ${other} has the same source, so two orders with the same id would count as one`,
    );
  }
}

const webhook = ['intake', 'webhook'] as const;

/**
 * A caller without a real secret could spend the balance, so each of these rules prevents the
 * start.
 */
export function checkWebhook(check: SectionCheck): void {
  if (check.at(...webhook) === undefined) return;
  const lists = ['tokens', 'standard_webhooks', ...platformNames];
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
  check.rotations(listed, ['scopes', 'sources', 'currency']);
  const firstOf = listed.filter((at, index) => {
    return (
      listed.findIndex((other) => check.at(...other, 'name') === check.at(...at, 'name')) === index
    );
  });
  check.distinct([...firstOf, ...signers], 'name', 'the other names of the webhook');
  check.secretsOf(listed, 'value', problemOfText, sharedSecret, usedSecrets);
  check.secretsOf(signers, 'secret', problemOfWhsec, sharedSecret, usedSecrets);
  for (const at of listed) {
    const name = check.at(...at, 'name');
    if (check.at(...at, 'sources') !== undefined || typeof name !== 'string') continue;
    const rule = `this token has permission only for orders of the source "${name}"`;
    check.warnings.push(`${at.join('.')}.sources is not set: ${rule}`);
  }
}

/**
 * Two shops must not share a name, a source or a secret: the orders of one could be taken for those
 * of the other.
 */
function checkShops(check: SectionCheck, usedSecrets: Map<string, string>): void {
  const sources = new Set<unknown>();
  for (const name of platformNames) {
    const shops = check.entries(...webhook, name);
    check.distinct(shops, 'shop', "the other shops' names");
    for (const at of shops) {
      const source = check.at(...at, 'source') ?? check.at(...at, 'shop');
      if (typeof source === 'string' && sources.has(source)) {
        const problem = `must differ from the other shops' sources, got "${source}": equal order ids would be mixed up`;
        check.report([...at, 'source'], problem);
      }
      sources.add(source);
      checkApi(check, at);
      const broken = platformSettings[name].brokenRule(
        (...key) => check.secret(...at, ...key) ?? check.at(...at, ...key),
      );
      if (broken !== null) check.report([...at, ...broken.at], broken.problem);
      // Only the body is signed: with a shared secret, a body of one shop could be sent to the
      // address of the other.
      check.secretsOf(
        check.entries(...at, 'secrets'),
        'value',
        problemOfText,
        sharedSecret,
        usedSecrets,
      );
    }
  }
  const callers = [
    ...check.entries(...webhook, 'tokens'),
    ...check.entries(...webhook, 'standard_webhooks'),
  ];
  if (sources.size === 0 || (callers.length === 0 && check.entries(...folders).length === 0))
    return;
  const shops = [...sources].join(', ');
  check.warnings.push(
    `orders of the shops (${shops}) must not also come as files or over HTTP: they would be bought twice`,
  );
}

/**
 * The keys of a shop's API must not cross a network unencrypted, not even to a stand-in for the
 * shop.
 */
function checkApi(check: SectionCheck, shop: ConfigPath): void {
  const isRead = check.at(...shop, 'rest') !== undefined;
  if (isRead)
    check.encrypted([...shop, 'rest', 'url'], 'the keys of the shop would cross the network');
  const at = [...shop, 'write_back'];
  if (isRead || check.at(...at) === undefined) return;
  const why = 'results are written through the API of the shop';
  check.report(at, `needs \`rest\`, which is not set: ${why}`);
}
