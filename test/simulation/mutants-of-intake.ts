import type { Mutant } from './mutant.ts';

const claim = 'intake/folder/folder-intake.ts';
const ingest = 'intake/folder/ingest-file.ts';
const finish = 'intake/folder/finish-file.ts';
const refunds = 'store/storefronts/shop-refunds.ts';
const whole = 'store/intake/accept-request.ts';
const esims = 'store/entries/esim-origins.ts';
const skus = 'core/order/sku-map.ts';
const planning = 'storefronts/plan-order.ts';
const taking = 'store/storefronts/take-order.ts';
const related = 'store/sqlite/views/storefront_related.sql';

/** Bugs between what a shop sends and the outbox. */
export const mutantsOfIntake: readonly Mutant[] = [
  {
    name: 'an eSIM is cancelled for a source that did not buy it',
    file: esims,
    changes: [['if (buyer === source ||', 'if (buyer !== undefined ||']],
  },
  {
    name: 'an eSIM that is unknown here is cancelled over HTTP',
    file: esims,
    changes: [['(buyer === undefined && !isLimited)', 'buyer === undefined']],
  },
  {
    name: 'a cancelled eSIM leaves the result of its order as it was',
    file: 'store/entries/entry-changes.ts',
    changes: [['if (origin !== undefined && origin !== requestId)', 'if (origin === requestId)']],
  },
  {
    name: 'a file counts as read before its lines are accepted',
    file: ingest,
    changes: [
      [
        '    const isComplete = await acceptLines(',
        '    const row = await store.files.finish({ id, sha256, nowMs: clock.wallMs() });\n    const isComplete = await acceptLines(',
      ],
      [
        '    const row = await store.files.finish({ id, sha256, nowMs: clock.wallMs() });\n    return',
        '    return',
      ],
    ],
  },
  {
    name: 'a file is moved before its lines are accepted',
    file: ingest,
    changes: [
      [
        '  let read: ReadFile | null;\n',
        "  let read: ReadFile | null;\n  if (row === null) await import('node:fs/promises').then(async (files) => { const to = context.config.archive + '/early'; await files.mkdir(to, { recursive: true }); await files.rename(join(context.config.work, file.workName), join(to, file.workName)); });\n",
      ],
    ],
  },
  {
    name: 'a file that a crash interrupted is not read again',
    file: claim,
    changes: [
      ['    for (const file of unknown) this.#unfinished.set(file.id, { file, dueMs: 0 });\n', ''],
    ],
  },
  {
    name: 'the first line of a file that is read again is dropped',
    file: ingest,
    changes: [
      [
        "      if (checked.kind === 'line') lines.push(withSkuRules(",
        "      if (checked.kind === 'line' && context.begun.size + lines.length === 0) continue;\n      if (checked.kind === 'line') lines.push(withSkuRules(",
      ],
      ['    begun.add(id);\n', '    if (starts === 1) begun.add(id);\n'],
    ],
  },
  {
    name: 'the report about lines is not written',
    file: finish,
    changes: [
      ['  if (report !== null) await writeReport(', "  if (report === '') await writeReport("],
    ],
  },
  {
    name: 'the report about a rejected file is not written',
    file: finish,
    changes: [
      [
        '  await writeReport(config, errorReportNameOf(file.id, file.name), documentReport(file, error));\n',
        '',
      ],
    ],
  },
  {
    name: 'a report is not synced before it has its name',
    file: 'ops/files.ts',
    changes: [
      ['  await syncAndClose(file);\n  await rename', '  await file.close();\n  await rename'],
    ],
  },
  {
    name: 'the name of a result is not synced',
    file: 'ops/files.ts',
    changes: [
      [
        '  await rename(draft, path);\n  await syncFolder(dirname(path));',
        '  await rename(draft, path);',
      ],
    ],
  },
  {
    name: 'what a slow writer adds to an archived file is not noticed',
    file: 'intake/folder/finish-file.ts',
    changes: [
      [
        'signature !== null && signature !== file.signature',
        'signature !== null && signature === null',
      ],
    ],
  },
  {
    name: 'a file that was moved although the move failed is forgotten',
    file: claim,
    changes: [
      [
        '    if (!this.#mayHaveMore) return;',
        '    if (this.#mayHaveMore || !this.#mayHaveMore) return;',
      ],
    ],
  },
  {
    name: 'a changed line of a file counts as known',
    file: 'store/intake/accept-batch.ts',
    changes: [
      [
        'if (known.fingerprint === fingerprintOf(line)) return { ...base',
        "if (known.fingerprint !== '') return { ...base",
      ],
    ],
  },
  {
    name: 'a changed request counts as known',
    file: whole,
    changes: [['if (was.fingerprint === fingerprintOf(is)) return [];', 'return [];']],
  },
  {
    name: 'a repeated request is accepted again under another line id',
    file: whole,
    changes: [
      [
        '  if (first !== undefined) {\n',
        "  if (first !== undefined) {\n    if (known.length === order.length) insertLines(outbox, [{ ...order[0], lineId: order[0].lineId + '-again' }], nowMs);\n",
      ],
    ],
  },
  {
    name: 'a request is answered before its commit',
    file: 'intake/http/order-routes.ts',
    changes: [
      [
        '  const outcome = await commits.submit(lines);\n',
        "  void deps.clock.sleep(200).then(() => commits.submit(lines)).catch(() => undefined);\n  const outcome = { kind: 'accepted', orders: [] };\n",
      ],
    ],
  },
  {
    name: 'a request with a mistake is accepted in part',
    file: 'intake/http/order-routes.ts',
    changes: [
      [
        '  if (mistakes.length > 0) throw invalid(mistakes);\n  return { lines, single };',
        '  return { lines, single };',
      ],
    ],
  },
  {
    name: 'any signature is accepted',
    file: 'intake/http/signatures.ts',
    changes: [
      [
        '    if (sent.some((text) => isSignature(text, expected))) found',
        '    if (sent.length > 0) found',
      ],
    ],
  },
  {
    name: 'a shop cancels an order that was sent',
    file: 'store/intake/intake.ts',
    changes: [
      [
        'const unsent = rows.filter((row) => isSurelyUnsent(database, row));',
        "const unsent = rows.filter((row) => row.state === 'pending' || row.state === 'waiting' || row.state === 'unknown');",
      ],
    ],
  },
  {
    name: 'a webhook of a shop is answered before its commit',
    file: 'storefronts/storefront-intake.ts',
    changes: [
      [
        '    const taken = await store.takeOrder(order);\n',
        '    void this.#deps.clock.sleep(200).then(() => store.takeOrder(order)).catch(() => undefined);\n    const taken = { accepted: 1, known: 0, takenBack: 0, flagged: 0, released: 0, stale: false };\n',
      ],
    ],
  },
  {
    name: 'a webhook that comes again buys again under another line id',
    file: 'storefronts/plan-order.ts',
    changes: [
      ['    line_id: line.lineId,\n', '    line_id: `${line.lineId}-${nowMsOf(shop)}`,\n'],
      [
        'const maxAheadMs = 86_400_000;\n',
        'const maxAheadMs = 86_400_000;\nlet calls = 0;\nconst nowMsOf = (_shop: ShopSettings): number => (calls += 1);\n',
      ],
    ],
  },
  {
    name: 'an order that the shop cancelled is bought',
    file: 'storefronts/woocommerce/payload.ts',
    changes: [["['cancelled', 'refunded',", "['cancelled-by-nobody', 'refunded',"]],
  },
  {
    name: 'an order that the shop refunded is bought',
    file: refunds,
    changes: [['  if (isWhole) cancelUnbought(taking, open);\n', '']],
  },
  {
    name: 'an older state of a shop order undoes a newer one',
    file: 'store/storefronts/newest-states.ts',
    changes: [
      ['return order.modifiedMs < seen.modifiedMs && !isInDoubt(order, seen);', 'return false;'],
    ],
  },
  {
    name: 'a time that a shop had ahead hides what it changes then',
    file: 'store/storefronts/newest-states.ts',
    changes: [['seen.modifiedMs > seen.receivedMs + clockLeewayMs &&', 'seen.modifiedMs < 0 &&']],
  },
  {
    name: 'a late state by a clock ahead undoes the end of its order',
    file: 'store/storefronts/newest-states.ts',
    changes: [['(isAhead || isInDoubt(order, seen))', 'isInDoubt(order, seen)']],
  },
  {
    name: 'a unit that the shop refunded is bought',
    file: 'storefronts/shopify/payload.ts',
    changes: [
      [
        'remaining: Math.max(0, Math.min((pieces ?? 0) - (refunded ?? 0), current)),',
        'remaining: pieces ?? 0,',
      ],
    ],
  },
  {
    name: 'a SKU that is almost one of the map is ignored',
    file: skus,
    changes: [['if (near !== undefined) return', "if (near === '') return"]],
  },
  {
    name: 'a SKU that is almost one of the map is bought as that',
    file: skus,
    changes: [
      ["super.get(this.#names.get(normalSku(sku)) ?? '')", "super.get(this.near(sku) ?? '')"],
    ],
  },
  {
    name: 'a SKU is looked up only as it is written',
    file: skus,
    changes: [
      [
        "return super.get(sku) ?? super.get(this.#names.get(normalSku(sku)) ?? '');",
        'return super.get(sku);',
      ],
    ],
  },
  {
    name: 'a SKU that a map has lost counts as one of another product',
    file: skus,
    changes: [['if (before.includes(normalSku(sku)))', "if (before.includes(''))"]],
  },
  {
    name: 'what was flagged for its SKU is not bought when the map has it again',
    file: 'storefronts/storefront-intake.ts',
    changes: [['const kept = skus.has(sku) ?', 'const kept = sku === null ?']],
  },
  {
    name: 'a sale from before the connection is bought',
    file: planning,
    changes: [['if (soldMs < earliestMs) {', 'if (soldMs < 0) {']],
  },
  {
    name: 'no row says that old sales are not bought',
    file: taking,
    changes: [['  flagShop(outbox, { ...ofMany, source, nowMs, reopens: false });\n', '']],
  },
  {
    name: 'a copy of an order is bought, too',
    file: taking,
    changes: [['if (related === undefined) continue;', "if (related?.why !== '') continue;"]],
  },
  {
    name: 'a copy that comes before its original is not seen',
    file: related,
    changes: [["'isnames', 'namesis', 'ispart_of', 'part_ofis'", "'namesis', 'part_ofis'"]],
  },
  {
    name: 'two orders with one payment are bought',
    file: related,
    changes: [["('paymentpayment', ", '(']],
  },
  {
    name: 'only the line of a copy that names a bought one is held',
    file: taking,
    changes: [
      [
        '  for (const { lineId } of added) {\n',
        '  for (const { lineId } of added.slice(0, 1)) {\n',
      ],
    ],
  },
  {
    name: 'another sale with known ids is taken for the known one',
    file: taking,
    changes: [['const isOther = !isLate && ', 'const isOther = isLate && ']],
  },
  {
    name: 'another sale with known ids is flagged for nobody',
    file: taking,
    changes: [
      ['flagged: takeUnreadableOrder(outbox, { ...delivered, ...givenAgain }) };', 'flagged: 0 };'],
    ],
  },
  {
    name: 'sales with one id are told apart by their keys alone',
    file: 'core/order/sale-key.ts',
    changes: [
      [
        "return typeof key === 'boolean' ? key : time === true && customer === true;",
        'return key === true;',
      ],
    ],
  },
  {
    name: 'a line that was not sent keeps the quantity of before',
    file: refunds,
    changes: [
      [
        'const isSame = purchaseFields.every((field) => field === ',
        'const isSame = purchaseFields.every((field) => field !== ',
      ],
    ],
  },
  {
    name: 'a piece that was added after the purchase is flagged for nobody',
    file: taking,
    changes: [["    flagLine(taking, lineId, flagOf('changed_after_purchase', rule));\n", '']],
  },
  {
    name: 'an edit that was put back stays flagged',
    file: taking,
    changes: [[' endChangeFlags(taking, lineId);', ' void endChangeFlags;']],
  },
];
