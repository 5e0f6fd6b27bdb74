import { describe, expect, it } from 'vitest';
import { elementsOf, fullCard, fullEsim, lpa, programTemplates, shownValues, textOf, textWith } from './rendering.ts';

describe('the text of a gift card', () => {
  it('has everything that was delivered, each in its line', () => {
    expect(textOf({ giftCards: [fullCard] }).text).toBe(`Your order 1001 is complete.

Code: DXTY-7WQ3-7YFZ-YHK2
PIN: 4711
Redeem at: https://redeem.example.com/?gift=1&land=de
Serial number: SN-000123456789
Expires: 2027-12-31
`);
  });

  it('says what is missing, of each line that the order has', () => {
    const lines = [
      { giftCards: [{ code: 'A1' }], later: 2, byHand: 3, notDelivered: 4 },
      { line_id: '2', product: null, notDelivered: null },
      { line_id: '3', product: 'fr-1gb', toppedUp: ['8999901000000000013'] },
    ];
    expect(textOf(...lines).text).toBe(`Your order 1001 is not complete. Below is what is here and what is missing.

= steam-10 =

Code: A1

Still to come: 2. You will get the rest as soon as it is here.

We will send you separately: 3.

Not delivered: 4. Please contact us.

Not delivered. Please contact us.

= fr-1gb =

The eSIM 8999901000000000013 was topped up.
`);
  });

  it('says that a code is a picture, which a page shows', () => {
    const picture = 'data:image/png;base64,iVBORw0KGgo=';
    const { text, html } = textOf({ giftCards: [{ url: picture }] });
    expect(text).toContain('The code is a picture, which plain text cannot show.');
    expect(text).not.toContain('data:');
    expect(elementsOf(html).find(({ tag }) => tag === 'img')?.attributes).toMatchObject({ src: picture });
  });
});

describe('the text of an eSIM', () => {
  const apple = `https://esimsetup.apple.com/esim_qrcode_provisioning?carddata=${lpa}`;
  const android = `https://esimsetup.android.com/esim_qrcode_provisioning?carddata=${lpa}`;

  it('has the links of the phones, the activation code and its parts', () => {
    expect(textOf({ esims: [fullEsim] }).text).toBe(`Your order 1001 is complete.

eSIM
Install on iPhone: ${apple}
Install on Android: ${android}
If a link does not work, enter the activation code in the settings of the phone.
Full activation code: ${lpa}
Confirmation code (the phone asks for it): 998877
SM-DP+ address, to enter by hand: smdp.example.com
Activation code, to enter by hand: K2-ABCDE-1FGHIJ
ICCID: 8999901000000000013
Expires: 2027-06-30
`);
  });

  it('has the links in the page, and encodes what has a meaning in an address', () => {
    const hrefs = (unit: object) =>
      elementsOf(textOf({ esims: [unit] }).html).flatMap(({ attributes: { href = [] } }) => href);
    expect(hrefs(fullEsim)).toEqual([apple, android]);
    const strange = 'LPA:1$smdp.example.com$A&carddata=LPA:1$evil.example$B#c+d%';
    expect(hrefs({ lpa: strange }).map((href) => new URL(href).searchParams.getAll('carddata'))).toEqual([
      [strange],
      [strange],
    ]);
    const own = 'https://supplier.example.com/install/7';
    expect(hrefs({ ...fullEsim, apple_install_url: own })).toEqual([own, android]);
    expect(hrefs({ ...fullEsim, apple_install_url: 'http://supplier.example.com/install/7' })).toEqual([
      apple,
      android,
    ]);
  });

  it('says so when nothing of it installs the eSIM, and not when a QR code of the supplier does', () => {
    const missing = 'The data to install this eSIM is missing.';
    const { iccid } = fullEsim;
    const textOfEsim = (more: object) => textOf({ esims: [{ ...(iccid && { iccid }), ...more }] });
    expect(textOfEsim({}).text).toContain(missing);
    expect(textOfEsim({}).html).toContain(missing);
    const linked = textOfEsim({ qr_url: 'https://supplier.example.com/qr/7.png' });
    expect(linked.text).toContain('Show the QR code: https://supplier.example.com/qr/7.png');
    expect(linked.html).not.toContain(missing);
    // A picture from elsewhere would tell its owner who reads the mail.
    expect(elementsOf(linked.html).filter(({ tag }) => tag === 'img')).toEqual([]);
  });
});

describe('a text of own templates', () => {
  it('may run from right to left: marks of the template stay, and no character of a value changes', () => {
    const units = { giftCards: [fullCard], esims: [fullEsim] };
    const marked = new Map(programTemplates);
    for (const [file, template] of programTemplates) {
      if (file.endsWith('.txt')) marked.set(file, template.replaceAll(/\{\{(\w+)\}\}/g, '\u2066{{$1}}\u2069'));
    }
    const { text } = textWith(marked, units);
    for (const value of [...Object.values(fullCard), ...Object.values(fullEsim)]) {
      expect(text.split(`\u2066${value}\u2069`)).toHaveLength(2);
    }
    expect(textOf(units).text).not.toMatch(/[\u2066-\u2069]/);
  });
});

describe('a page', () => {
  it('isolates each value', () => {
    const { html } = textOf({ giftCards: [fullCard], esims: [fullEsim] });
    expect(shownValues(html).toSorted()).toEqual(
      ['1001', ...Object.values(fullCard), ...Object.values(fullEsim)].map(String).toSorted(),
    );
  });

  it('has no scripts, no styles elsewhere and no pictures from elsewhere', () => {
    const units = { giftCards: [fullCard, { url: 'data:image/gif;base64,R0lGODlh' }], esims: [fullEsim] };
    for (const { tag, attributes } of elementsOf(textOf(units).html)) {
      expect(['div', 'p', 'a', 'img', 'bdi']).toContain(tag);
      for (const name of Object.keys(attributes)) {
        expect(['style', 'lang', 'dir', 'href', 'src', 'alt', 'width']).toContain(name);
      }
      expect(attributes['href'] ?? 'https://').toMatch(/^https:\/\//);
      expect(attributes['src'] ?? 'data:image/png;base64,').toMatch(/^data:image\/(png|gif);base64,/);
      expect(attributes['style'] ?? '').not.toContain('url(');
    }
  });

  it.each([
    'http://redeem.example.com/',
    'javascript:alert(1)',
    'https://user:pass@redeem.example.com/',
    'data:text/html;base64,PHNjcmlwdD4=',
    'data:image/svg+xml;base64,PHN2Zz4=',
    'https://',
    ' //redeem.example.com',
  ])('shows the address %s, and does not link it', (url) => {
    const { html } = textOf({ giftCards: [{ url }] });
    expect(shownValues(html)).toContain(url);
    expect(elementsOf(html).filter(({ tag }) => tag === 'a' || tag === 'img')).toEqual([]);
  });
});
