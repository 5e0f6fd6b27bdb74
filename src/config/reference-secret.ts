import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { messageOf } from '../core/message-text.ts';
import { codeOf, OrderSyncError } from '../core/order-sync-error.ts';

const secretBytes = 32;

/**
 * The secret that references are derived from, at least 32 bytes.
 * @param mayCreate whether a missing secret is created: readable for its owner only, and on disk
 * before this returns
 * @throws OrderSyncError REFERENCE_SECRET_MISSING when it is missing and must not be created;
 * CONFIG_INVALID when it cannot be used
 */
export function readReferenceSecret(path: string, mayCreate: boolean): Buffer {
  const present = readIfPresent(path);
  if (present !== null) return parseSecret(path, present);
  if (!mayCreate) {
    throw new OrderSyncError(
      'REFERENCE_SECRET_MISSING',
      `The reference secret ${path} does not exist`,
      {
        hint: 'restore this file from your copy. A new secret leads to new references, and the same orders would be bought again. For a new installation, run `order-sync init`',
      },
    );
  }
  createSecret(path);
  return parseSecret(path, readIfPresent(path) ?? '');
}

function readIfPresent(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw new OrderSyncError('CONFIG_INVALID', `The reference secret ${path} cannot be read`, {
      hint: 'make this file readable for the user that runs order-sync',
      cause: error,
    });
  }
}

function parseSecret(path: string, text: string): Buffer {
  const hex = text.trim();
  if (!/^([0-9a-f]{2}){32,}$/i.test(hex)) {
    const problem = `The reference secret ${path} must hold at least 64 hexadecimal digits`;
    const hint =
      'restore this file from your copy. Never create a new secret for an installation that has bought anything';
    throw new OrderSyncError('CONFIG_INVALID', problem, { hint });
  }
  return Buffer.from(hex, 'hex');
}

/**
 * Writes the secret under another name and links it into place. A crash leaves no incomplete
 * secret, and of two processes that start at the same time, the second reads the secret of the
 * first.
 */
function createSecret(path: string): void {
  const folder = dirname(path);
  const draft = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const text = `${randomBytes(secretBytes).toString('hex')}\n`;
    writeFileSync(draft, text, { flag: 'wx', mode: 0o600, flush: true });
    linkSync(draft, path);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return;
    throw new OrderSyncError(
      'CONFIG_INVALID',
      `The reference secret ${path} cannot be written: ${messageOf(error)}`,
      {
        hint: 'make the folder of this file writable for the user that runs order-sync, or set reference.secret_file',
        cause: error,
      },
    );
  } finally {
    rmSync(draft, { force: true });
  }
  const directory = openSync(folder, 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
