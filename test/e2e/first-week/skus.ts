import {
  card,
  later,
  type Row,
  shopify,
  shopifyCard,
  shopifySku,
  usualMap,
  woo,
  wooSku,
} from './rows.ts';

// SKUs as people, plugins and spreadsheets write them.

const wpEditor = 'wordpress.org, wptexturize and wp_kses store an ampersand as an entity';
const csvImport =
  'woocommerce.com/document/product-csv-importer-exporter: SKUs typed in a spreadsheet';
const excel =
  'support.microsoft.com, "Keeping leading zeros and large numbers": a long number becomes 1.94512E+11';
const duplicate =
  'woocommerce class-wc-admin-duplicate-product.php, wc_product_generate_unique_sku: a copy gets the suffix -1';
const pasted = 'support threads: a SKU that was copied from a web page or a PDF';
const typed = 'a SKU that somebody typed by hand';

const map = `
  STEAM-20: { type: gift_card_order, variant: steam-usd-20 }
  STEAM-50: { type: gift_card_order, variant: steam-usd-50 }
  A&B-10: { type: gift_card_order, variant: apple-usd-10 }
  NINTENDO-20: { type: gift_card_order, variant: nintendo-usd-20 }
  "0027001": { type: gift_card_order, variant: riot-usd-10 }
  "194512345678": { type: gift_card_order, variant: playstation-usd-10 }
  "8499": { type: gift_card_order, variant: xbox-usd-25 }
`;
const flagged = { bought: [], told: ['727 unknown_sku'] };
const ignored = { bought: [], told: [] };

/** The same SKU in another form. */
export const sameSkus: readonly Row[] = [
  { name: 'a tab behind the SKU', source: csvImport, steps: [wooSku('STEAM-20\t')] },
  { name: 'a line break before the SKU', source: csvImport, steps: [wooSku('\r\nSTEAM-20')] },
  { name: 'capitals and small letters', source: typed, steps: [wooSku('Steam-20')] },
  { name: 'a zero-width space in the SKU', source: pasted, steps: [wooSku('STEAM\u200B-20')] },
  {
    name: 'a byte order mark before the SKU',
    source: csvImport,
    steps: [wooSku('\uFEFFSTEAM-20')],
  },
  {
    name: 'a narrow no-break space behind the SKU',
    source: pasted,
    steps: [wooSku('STEAM-20\u202F')],
  },
  {
    name: 'a mark of the direction of writing',
    source: 'shops in Arabic and Hebrew',
    steps: [wooSku('\u200ESTEAM-20')],
  },
  { name: 'a soft hyphen in the SKU', source: pasted, steps: [wooSku('STE\u00ADAM-20')] },
  { name: 'an ampersand as &amp;', source: wpEditor, map, steps: [wooSku('A&amp;B-10')] },
  { name: 'an ampersand as &#038;', source: wpEditor, map, steps: [wooSku('A&#038;B-10')] },
  {
    name: 'an ampersand that was escaped twice',
    source: wpEditor,
    map,
    steps: [wooSku('A&amp;amp;B-10')],
  },
  {
    name: 'an entity in the map itself',
    source: wpEditor,
    map: map.replace('A&B', 'A&amp;B'),
    steps: [wooSku('A&B-10')],
  },
  { name: 'Cyrillic letters that look alike', source: typed, steps: [wooSku('STЕАM-20')] },
  { name: 'Greek letters that look alike', source: typed, steps: [wooSku('SΤEAΜ-20')] },
  {
    name: 'letters of full width',
    source: 'a Japanese keyboard',
    steps: [wooSku('ＳＴＥＡＭ－２０')],
  },
  {
    name: 'a letter with an accent as one or two characters',
    source: 'macOS writes names decomposed',
    map: `\n  CAFÉ-20: { type: gift_card_order, variant: steam-usd-20 }\n`,
    steps: [wooSku('CAFE\u0301-20')],
  },
  { name: 'an apostrophe of a spreadsheet', source: csvImport, steps: [wooSku("'STEAM-20")] },
  { name: 'a formula of a spreadsheet', source: csvImport, steps: [wooSku('="STEAM-20"')] },
  { name: 'quotation marks of a spreadsheet', source: csvImport, steps: [wooSku('"STEAM-20"')] },
  {
    name: 'an EAN with .0',
    source: 'pandas and LibreOffice read a column with an empty cell as floats',
    map,
    steps: [wooSku('194512345678.0')],
  },
  {
    name: 'a SKU that is a number in JSON',
    source: 'a filter of woocommerce_product_get_sku',
    map,
    steps: [wooSku(8499)],
  },
  {
    name: 'Shopify: a space before the SKU',
    source: 'shopify.dev: a SKU is any text',
    platform: 'shopify',
    steps: [shopifySku(' STEAM-20')],
  },
  {
    name: 'Shopify: small letters',
    source: typed,
    platform: 'shopify',
    steps: [shopifySku('steam-20')],
  },
  {
    name: 'Shopify: the apostrophe of its own CSV export',
    source: "help.shopify.com, products CSV: 'barcodes with an apostrophe",
    platform: 'shopify',
    map,
    steps: [shopifySku("'0027001")],
  },
];

/** Almost a SKU of the map. */
export const nearSkus: readonly Row[] = [
  {
    name: 'an EAN that a spreadsheet changed, where the map has no such number',
    source: excel,
    steps: [wooSku('1.94512E+11')],
    ...flagged,
  },
  { name: 'no hyphen', source: typed, steps: [wooSku('STEAM20')], ...flagged },
  { name: 'an underscore for the hyphen', source: typed, steps: [wooSku('STEAM_20')], ...flagged },
  { name: 'a space for the hyphen', source: typed, steps: [wooSku('STEAM 20')], ...flagged },
  { name: 'a point and brackets', source: typed, steps: [wooSku('STEAM.(20)')], ...flagged },
  { name: 'the letter O for a zero', source: typed, steps: [wooSku('STEAM-2O')], ...flagged },
  {
    name: 'a zero for the letter O',
    source: typed,
    map,
    steps: [wooSku('NINTEND0-20')],
    ...flagged,
  },
  {
    name: 'a small l for the letter I',
    source: typed,
    map,
    steps: [wooSku('NlNTENDO-20')],
    ...flagged,
  },
  { name: 'a copy of a product', source: duplicate, steps: [wooSku('STEAM-20-1')], ...flagged },
  { name: 'a copy of a copy', source: duplicate, steps: [wooSku('STEAM-20-1-1')], ...flagged },
  {
    name: 'leading zeros that a spreadsheet took',
    source: excel,
    map,
    steps: [wooSku('27001')],
    ...flagged,
  },
  { name: 'swapped letters', source: typed, steps: [wooSku('SETAM-20')], ...flagged },
  {
    name: 'an EAN that a spreadsheet changed',
    source: excel,
    map,
    steps: [wooSku('1.94512E+11')],
    ...flagged,
  },
  {
    name: 'an EAN that a German spreadsheet changed',
    source: excel,
    map,
    steps: [wooSku('1,94512E+11')],
    ...flagged,
  },
  {
    name: 'Shopify: a copy of a variant',
    source: 'help.shopify.com, "Duplicating a product"',
    platform: 'shopify',
    steps: [shopifySku('STEAM-20-1')],
    ...flagged,
  },
  {
    name: 'Shopify: a slash for the hyphen',
    source: typed,
    platform: 'shopify',
    steps: [shopifySku('STEAM/20')],
    ...flagged,
  },
  {
    name: 'a near SKU beside a right one: the right one is bought',
    source: typed,
    steps: [woo({ line_items: [card(), card({ id: 316, sku: 'XBOX25' })] })],
    told: ['727 unknown_sku'],
  },
  {
    name: 'a near SKU that the map gets later',
    source: typed,
    steps: [
      wooSku('STEAM20'),
      { skus: `${usualMap}  STEAM20: { type: gift_card_order, variant: steam-usd-20 }\n` },
    ],
  },
  {
    name: 'an EAN that a spreadsheet changed, and the shop corrected',
    source: excel,
    map,
    steps: [wooSku('1.94512E+11'), woo({ ...later, line_items: [card({ sku: '194512345678' })] })],
  },
];

const withoutSteam = usualMap.replace(/ +STEAM.*\n/, '');

/** SKUs that the map had. */
export const lostSkus: readonly Row[] = [
  {
    name: 'a row that the map lost',
    source: 'a map that is exported each night, and one night short',
    steps: [{ skus: withoutSteam }, woo()],
    ...flagged,
  },
  {
    name: 'a row that the map lost and got back',
    source: 'the same',
    steps: [{ skus: withoutSteam }, woo(), { skus: usualMap }],
  },
  {
    name: 'a row that was mistyped and corrected',
    source: typed,
    steps: [{ skus: usualMap.replace('STEAM-20', 'STAEM-2000') }, woo(), { skus: usualMap }],
  },
  {
    name: 'a lost row of which an order was bought before',
    source: 'the same',
    steps: [woo(), { skus: withoutSteam }, woo({ id: 728, line_items: [card({ id: 320 })] })],
    told: ['728 unknown_sku', 'shop skus_lost'],
  },
  {
    name: 'Shopify: a row that the map lost and got back',
    source: 'the same',
    platform: 'shopify',
    steps: [{ skus: withoutSteam }, shopify(), { skus: usualMap }],
  },
  {
    name: 'an order that was cancelled before the map was right again',
    source: 'a customer who waited too long',
    steps: [
      { skus: withoutSteam },
      woo(),
      woo({ ...later, status: 'cancelled' }),
      { skus: usualMap },
    ],
    ...ignored,
  },
];

/** Really other products: nothing is said about them. */
export const otherSkus: readonly Row[] = [
  {
    name: 'a pack of three',
    source: 'a mixed shop',
    steps: [wooSku('STEAM-20-3PACK')],
    ...ignored,
  },
  { name: 'a longer word', source: 'a mixed shop', steps: [wooSku('STEAMDECK-20')], ...ignored },
  { name: 'a card and its month', source: 'a mixed shop', steps: [wooSku('MAY-01')], ...ignored },
  { name: 'a shirt', source: 'a mixed shop', steps: [wooSku('TSHIRT-20-M')], ...ignored },
  {
    name: 'another value of the same brand',
    source: 'a mixed shop',
    steps: [wooSku('STEAM-25')],
    ...ignored,
  },
  { name: 'ten times the value', source: 'a mixed shop', steps: [wooSku('STEAM-200')], ...ignored },
  {
    name: 'another currency of the same card',
    source: 'a mixed shop',
    steps: [wooSku('STEAM-20-EUR')],
    ...ignored,
  },
  {
    name: 'another brand of the same value',
    source: 'a mixed shop',
    steps: [wooSku('RIOT-20')],
    ...ignored,
  },
  {
    name: 'no SKU',
    source: 'WooCommerce REST API: "" without a SKU',
    steps: [wooSku('')],
    ...ignored,
  },
  { name: 'another EAN', source: 'a mixed shop', map, steps: [wooSku('194512345685')], ...ignored },
  {
    name: 'a mug beside a card',
    source: 'a mixed shop',
    steps: [woo({ line_items: [card(), card({ id: 316, sku: 'MUG-1' })] })],
  },
  {
    name: 'two SKUs of the map that differ in their end',
    source: duplicate,
    map: `${usualMap}  STEAM-20-1: { type: gift_card_order, variant: steam-usd-50 }\n`,
    steps: [wooSku('STEAM-20-1')],
  },
  {
    name: 'Shopify: another product',
    source: 'a mixed shop',
    platform: 'shopify',
    steps: [shopify({ line_items: [shopifyCard(), shopifyCard({ id: 316, sku: 'HOODIE-L' })] })],
  },
];
