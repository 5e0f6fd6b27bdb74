import { lstat } from 'node:fs/promises';
import { OrderSyncError } from '../core/order-sync-error.ts';

/**
 * Throws FOLDER_UNUSABLE when this is no folder but a link: who may write beside it could have the worker write anywhere.
 */
export async function requireRealFolder(folder: string): Promise<void> {
  if ((await lstat(folder)).isDirectory()) return;
  throw new OrderSyncError('FOLDER_UNUSABLE', `${folder} is not a folder: it is a link, or something else`, {
    hint: 'put the folder itself there, or name the folder that the link leads to in the config',
  });
}
