import { correction, generate, type Bitmap2D } from 'lean-qr';
import { toPngDataURL } from 'lean-qr/extras/node_export';
import { toSvgSource } from 'lean-qr/extras/svg';

/** SGP.22 4.1: the longest activation code that a phone must accept. */
const longestActivationCode = 255;
/** Pixels of one square of the code: large enough for a camera that reads it from a screen. */
const pixelsPerSquare = 6;

/** A QR code as pictures, black on white with the white margin that a camera needs, whatever is around it. */
export interface QrCode {
  /** A `data:` address, for mail. */
  readonly png: string;
  /** The source of the picture, for pages. */
  readonly svg: string;
}

/** The QR code whose content is exactly this activation code; null for one that no phone accepts. */
export function qrCodeOf(activationCode: string): QrCode | null {
  if (activationCode.length > longestActivationCode) return null;
  const code: Bitmap2D = generate(activationCode, { minCorrectionLevel: correction.M });
  return {
    png: toPngDataURL(code, { on: [0, 0, 0], off: [255, 255, 255], scale: pixelsPerSquare }),
    svg: toSvgSource(code, { on: '#000', off: '#fff', scale: pixelsPerSquare }),
  };
}
