/** The phones open these addresses themselves. docs/customer-texts.md says what is known of them. */
const installPages = {
  apple: 'https://esimsetup.apple.com/esim_qrcode_provisioning?carddata=',
  android: 'https://esimsetup.android.com/esim_qrcode_provisioning?carddata=',
} as const;

/** The address at which a phone installs an eSIM; null for what is no activation code. */
export function installLink(phone: keyof typeof installPages, activationCode: string): string | null {
  if (!/^LPA:1\$[^$\s]+\$\S*$/i.test(activationCode)) return null;
  // In the form in use, with `:` and `$` as they are; what has a meaning in an address is encoded.
  const data = encodeURIComponent(activationCode).replaceAll('%3A', ':').replaceAll('%24', '$');
  return `${installPages[phone]}${data}`;
}

/** An address that may be a link: https, without user and password. Null for any other, which is shown as text. */
export function secureLink(address: string | undefined): string | null {
  if (address === undefined || !URL.canParse(address)) return null;
  const url = new URL(address);
  return url.protocol === 'https:' && url.username === '' && url.password === '' ? url.href : null;
}

/** A picture that the API delivered within its address. An SVG is not among them: it could load others. */
export function inlinePicture(address: string | undefined): string | null {
  const isPicture = /^data:image\/(png|jpeg|gif);base64,[A-Za-z0-9+/]+={0,2}$/i;
  return address !== undefined && isPicture.test(address) ? address : null;
}
