import type { Unit } from '../../core/answers/order-answer.ts';

const labels: Readonly<Record<Exclude<keyof Unit, 'status'>, string>> = {
  code: 'Code',
  pin: 'PIN',
  serial: 'Serial number',
  url: 'Link',
  expires_at: 'Valid until',
  lpa: 'Activation code',
  iccid: 'ICCID',
  smdp_address: 'SM-DP+ address',
  matching_id: 'Matching ID',
  confirmation_code: 'Confirmation code',
  qr_url: 'QR code',
  apple_install_url: 'Install on iPhone',
};

/** The fields of a unit, each with the name under which its customer reads it. */
export function unitFields(unit: Unit): readonly { readonly label: string; readonly value: string }[] {
  const values: Readonly<Record<string, string | undefined>> = { ...unit };
  return Object.entries(labels).flatMap(([name, label]) => {
    const value = values[name];
    return value === undefined ? [] : [{ label, value }];
  });
}
