import type { Mutant } from './mutant.ts';

const loop = 'results/delivery-loop.ts';
const pause = 'results/sink-pause.ts';
const callback = 'results/callback-sink.ts';
const rows = 'store/results/results.ts';
const woocommerce = 'storefronts/woocommerce/write-back.ts';
const shopify = 'storefronts/shopify/write-back.ts';
const http = 'storefronts/shop/shop-http.ts';

const rest = 'storefronts/woocommerce/rest-client.ts';

const status =
  "...(isDone && isWholeOrderGiven(statement, order) ? [{ kind: 'status', status: 'completed' } as const] : []),";
const closes = '        this.#closeFor(waitMs, error.message);\n';
const metafields =
  "...(metafields.length === 0 ? [] : [{ kind: 'metafields', metafields } as const]),";

/** Bugs between a result and those who receive it. */
export const mutantsOfSinks: readonly Mutant[] = [
  {
    name: 'a note is posted without a look whether the order has it',
    file: woocommerce,
    changes: [
      [
        'if (isKnown && !isLost && !this.#posts.isAnyOpen) return;',
        'if (this.#written.length === 0) return;',
      ],
      ['    if (isBegun()) {\n', '    if (note.markers.length === 0) {\n'],
    ],
  },
  {
    name: 'a note whose answer was lost is posted again at once',
    file: woocommerce,
    changes: [['const deadlinesUntilLost = 3;', 'const deadlinesUntilLost = 0;']],
  },
  {
    name: 'a note that was lost is not posted again',
    file: 'storefronts/woocommerce/note-posts.ts',
    changes: [["{ ...post, state: 'announced', lost:", "{ ...post, state: 'posted', lost:"]],
  },
  {
    name: 'the outbox does not have the begin of a post',
    file: woocommerce,
    changes: [
      [
        "begins: () => this.#posts.set(note, 'begun')",
        "begins: () => this.#posts.set(note, 'announced')",
      ],
    ],
  },
  {
    name: 'a code is mailed again with the next ones',
    file: woocommerce,
    changes: [['customerParts(line).filter((part) => !isPosted(part))', 'customerParts(line)']],
  },
  {
    name: 'an order is completed before its codes stand in it',
    file: woocommerce,
    changes: [
      [`    ${status}\n`, ''],
      [
        '  const writes: readonly OrderWrite[] = [\n',
        `  const writes: readonly OrderWrite[] = [\n    ${status}\n`,
      ],
    ],
  },
  {
    name: 'an order is completed although a line of it is missing',
    file: 'storefronts/shop/order-statement.ts',
    changes: [['return order.lines.every((line) =>', 'return order.lines.some((line) =>']],
  },
  {
    name: 'the codes of one order are written into the next one',
    file: 'storefronts/woocommerce/order-fields.ts',
    changes: [
      [
        '[{ key: fieldKeys.codes, value: codesJson(given) }];',
        '[{ key: fieldKeys.codes, value: (last ??= codesJson(given)) }];',
      ],
      ['const textOf = ', 'let last: string | undefined;\nconst textOf = '],
    ],
  },
  {
    name: 'a field of a line is written without the id of the line, so that the shop adds one',
    file: rest,
    changes: [['return `{"id":${id},"meta_data":', 'return `{"meta_data":']],
  },
  {
    name: 'a line is fulfilled before its codes stand in the order',
    file: shopify,
    changes: [
      [`    ${metafields}\n`, ''],
      [
        '    ...tagWrites(statement, now),\n',
        `    ${metafields}\n    ...tagWrites(statement, now),\n`,
      ],
    ],
  },
  {
    name: 'a fulfilment names no lines, and the shop fulfils all of them',
    file: shopify,
    changes: [
      ['fulfillmentOrderLineItems: lines }', 'fulfillmentOrderLineItems: [] as typeof lines }'],
    ],
  },
  {
    name: 'a line that is not delivered is fulfilled',
    file: shopify,
    changes: [['const over = more.get(line.lineId);', 'const over = more.get(line.lineId) ?? 0;']],
  },
  {
    name: 'the errors of a change at Shopify are not read',
    file: shopify,
    changes: [['if (messages.length > 0) throw', 'if (messages.length > 99) throw']],
  },
  {
    name: 'a shop that asks for a long wait is called again at once',
    file: http,
    changes: [
      [closes, '        this.#closeFor(waitMs > maxWaitMs ? 1 : waitMs, error.message);\n'],
    ],
  },
  {
    name: 'a call to a shop that asked to wait is repeated at once',
    file: http,
    changes: [
      [closes, '        this.#closeFor(waitMs > maxWaitMs ? waitMs : 1, error.message);\n'],
    ],
  },
  {
    name: 'an endpoint that asks to wait is called all the same',
    file: pause,
    changes: [
      ['    if (askedMs !== null || isRateLimit) this.#waitFor(askedMs ?? firstTrialMs);\n', ''],
    ],
  },
  {
    name: 'the pause of a sink does not end',
    file: pause,
    changes: [['store.results.resumeSink(sink, forMs >= outageMs)', 'Promise.resolve()']],
  },
  {
    name: 'a paused sink is not tried again',
    file: 'ops/breaker.ts',
    changes: [
      ['this.#sinceMs === null ? 0 : this.#trialAtMs);', 'this.#sinceMs === null ? 0 : 9e15);'],
    ],
  },
  {
    name: 'a sink that fails pauses the account',
    file: pause,
    changes: [
      [
        '    const isDue = this.#breaker.remind();\n',
        "    await store.pauses.open({ scope: 'account', reason: 'maintenance', message, openedBy: 'worker', nowMs, probeAtMs: nowMs + 7_200_000 });\n    const isDue = this.#breaker.remind();\n",
      ],
    ],
  },
  {
    name: 'what an endpoint has confirmed is forgotten',
    file: rows,
    changes: [
      ['this.write(confirm)', 'async (confirmed: object): Promise<void> => void confirmed'],
    ],
  },
  {
    name: 'a result is delivered twice at a time',
    file: loop,
    changes: [
      [
        'sink.name, steadyMs, limit, this.#taken, isProbing)',
        'sink.name, steadyMs, limit, new Set(), isProbing)',
      ],
    ],
  },
  {
    name: 'a version that was delivered counts for the one that came meanwhile',
    file: rows,
    changes: [
      ['done_version = max(done_version, :version)', 'done_version = max(due_version, :version)'],
    ],
  },
  {
    name: 'a redirect counts as the confirmation of an endpoint',
    file: 'results/signed-post.ts',
    changes: [
      [
        'answer.statusCode >= 200 && answer.statusCode < 300',
        'answer.statusCode >= 200 && answer.statusCode < 400',
      ],
    ],
  },
  {
    name: 'the second event of a result is not posted',
    file: callback,
    changes: [
      [
        '      await delivery.confirm(JSON.stringify(confirms));\n',
        '      await delivery.confirm(JSON.stringify(confirms));\n      break;\n',
      ],
    ],
  },
  {
    name: 'the second try of a shop comes after a quarter of an hour',
    file: 'storefronts/write-back.ts',
    changes: [['[10, 30, 60, 120, 300, 900, 1800,', '[900, 900, 900, 900, 900, 900, 1800,']],
  },
  {
    name: 'a sink that is away for long is tried ever more rarely',
    file: pause,
    changes: [['mostMs: 300_000', 'mostMs: 7_200_000']],
  },
  {
    name: 'a call to a receiver has no deadline',
    file: 'ops/deadline.ts',
    changes: [
      ['if (!this.#ended.signal.aborted) this.#over.abort();', 'if (ms < 0) this.#over.abort();'],
    ],
  },
  {
    name: 'a delivery is given up after its first failure',
    file: loop,
    changes: [['    if (delayMs === null) {\n', '    if (delayMs === null || tries >= 0) {\n']],
  },
  {
    name: 'a delivery that was given up is shown to nobody',
    file: rows,
    changes: [
      [
        'given_up_at_ms = :nowMs, acknowledged_at_ms = NULL,',
        'given_up_at_ms = :nowMs, acknowledged_at_ms = :nowMs,',
      ],
    ],
  },
  {
    name: 'the log says which fields were written, with their values',
    file: woocommerce,
    changes: [
      [
        '...write.fields.map(({ key }) => key)',
        '...write.fields.map(({ key, value }) => key + value)',
      ],
    ],
  },
  {
    name: 'a note whose post had begun is announced again with the next one',
    file: woocommerce,
    changes: [
      [
        'const markers = note.markers.filter(isUnknown);',
        'const markers = note.markers.some(isUnknown) ? note.markers : [];',
      ],
    ],
  },
  {
    name: 'a line of which the order has fewer pieces is given as it was bought',
    file: 'storefronts/shop/order-statement.ts',
    changes: [
      [
        '(left.get(lineId) ?? 0) < pieces ? [] : [line]',
        '(left.get(lineId) ?? 0) < 0 ? [] : [line]',
      ],
    ],
  },
  {
    name: 'a line of which the order has more pieces is not given',
    file: 'storefronts/shop/order-statement.ts',
    changes: [
      [
        '(left.get(lineId) ?? 0) < pieces ? [] : [line]',
        '(left.get(lineId) ?? 0) === pieces ? [line] : []',
      ],
    ],
  },
];
