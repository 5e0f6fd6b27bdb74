import { Buffer } from 'node:buffer';
import jsQr from 'jsqr';
import { PNG } from 'pngjs';
import { describe, expect, it } from 'vitest';
import { qrCodeOf } from '../../../src/results/customer/render-order.ts';
import { elementsOf, lpa, textOf } from './rendering.ts';

// The module is CommonJS: what is imported is the namespace, or the function in it.
const decode = typeof jsQr === 'function' ? jsQr : jsQr.default;

interface Pixels {
  readonly data: Uint8ClampedArray;
  readonly width: number;
  readonly height: number;
}

function pixelsOf(address: string): Pixels {
  const { data, width, height } = PNG.sync.read(Buffer.from(address.replace('data:image/png;base64,', ''), 'base64'));
  return { data: new Uint8ClampedArray(data), width, height };
}

const read = ({ data, width, height }: Pixels): string | undefined => decode(data, width, height)?.data;

/** Draws the only path of a QR code: a point is black where the lines around it turn (the rule `nonzero`). */
function drawn(svg: string): Pixels {
  const [, box = ''] = /viewBox="([^"]+)"/.exec(svg) ?? [];
  const [left = 0, top = 0, size = 0] = box.split(' ').map(Number);
  const [, path = ''] = /<path d="([^"]+)"/.exec(svg) ?? [];
  const outlines = path
    .split('Z')
    .map((outline) => [...outline.matchAll(/(-?\d+) (-?\d+)/g)].map(([, x, y]) => [Number(x), Number(y)] as const));
  const turnsAround = (x: number, y: number): number => {
    let turns = 0;
    for (const points of outlines) {
      for (const [index, [x1, y1]] of points.entries()) {
        const [x2, y2] = points[(index + 1) % points.length] ?? [x1, y1];
        if (x1 === x2 && x1 < x && y > Math.min(y1, y2) && y < Math.max(y1, y2)) turns += Math.sign(y2 - y1);
      }
    }
    return turns;
  };
  const scale = 4;
  const width = size * scale;
  const data = new Uint8ClampedArray(width * width * 4).fill(255);
  const isBlack = Array.from({ length: size * size }, (_, square) => {
    return turnsAround(left + (square % size) + 0.5, top + Math.floor(square / size) + 0.5) !== 0;
  });
  for (let pixel = 0; pixel < width * width; pixel += 1) {
    const row = Math.floor(pixel / width / scale);
    const column = Math.floor((pixel % width) / scale);
    if (isBlack[row * size + column] === true) data.fill(0, pixel * 4, pixel * 4 + 3);
  }
  return { data, width, height: width };
}

describe('the QR code of an eSIM', () => {
  it.each([
    lpa,
    'LPA:1$rsp.truphone.com$QR-G-5C-21K-1CHHCG1',
    'LPA:1$smdp.example.com$lower-Case_id.7$$1',
    'lpa:1$a.b$',
    `LPA:1$smdp.example.com$${'A1-'.repeat(70)}`,
  ])('says exactly the activation code %s, as PNG and as SVG', (code) => {
    const qr = qrCodeOf(code);
    expect(read(pixelsOf(qr?.png ?? ''))).toBe(code);
    expect(read(drawn(qr?.svg ?? ''))).toBe(code);
    expect(qrCodeOf(code)).toEqual(qr);
  });

  it('is what the page shows, on white also where the page is dark', () => {
    const images = elementsOf(textOf({ esims: [{ lpa }] }).html).filter(({ tag }) => tag === 'img');
    const [address = ''] = images.map(({ attributes }) => attributes['src'] ?? '');
    const pixels = pixelsOf(address);
    expect(read(pixels)).toBe(lpa);
    // Every pixel is opaque, and so is the white margin.
    expect(pixels.data.filter((_, index) => index % 4 === 3).every((opacity) => opacity === 255)).toBe(true);
    expect(pixels.data.slice(0, 3)).toEqual(new Uint8ClampedArray([255, 255, 255]));
  });

  it('is not made of what no phone accepts', () => {
    expect(qrCodeOf(`LPA:1$smdp.example.com$${'A'.repeat(300)}`)).toBeNull();
  });

  it('stands in for none where it cannot be made: the activation code is shown all the same', () => {
    const long = `LPA:1$smdp.example.com$${'A'.repeat(300)}`;
    const { html, text } = textOf({ esims: [{ lpa: long }] });
    expect(html).not.toContain('<img');
    expect(text).toContain(`Full activation code: ${long}`);
  });
});
