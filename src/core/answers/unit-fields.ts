/**
 * The fields of a delivered unit, in the order in which they are shown, each with its label. Shops,
 * CSV results, pages, commands and the units that operators enter have them from here. The mapping
 * has the names that an API uses (`wire-answer.ts`), and `read-units.ts` fills each field.
 */
const fields = [
  ['code', 'Code'],
  ['pin', 'PIN'],
  ['serial', 'Serial number'],
  ['url', 'Link'],
  ['expires_at', 'Valid until'],
  ['lpa', 'Activation code'],
  ['iccid', 'ICCID'],
  ['smdp_address', 'SM-DP+ address'],
  ['matching_id', 'Matching ID'],
  ['confirmation_code', 'Confirmation code'],
  ['qr_url', 'QR code'],
  ['apple_install_url', 'Install on iPhone'],
] as const;

type UnitFieldName = (typeof fields)[number][0];
export const unitFieldNames: readonly UnitFieldName[] = fields.map(([name]) => name);

/** The fields of one unit; one that did not come is absent. */
export type UnitFields = { readonly [name in UnitFieldName]?: string };

/** The fields that a unit has. Each value is as it was delivered: whoever shows it escapes it. */
export function labelledFields(unit: UnitFields & { readonly status?: string }) {
  return [...fields, ['status', 'Status'] as const].flatMap(([name, label]) => {
    const value = unit[name];
    return value === undefined ? [] : [{ name, label, value }];
  });
}
