import { join } from 'node:path';
import { pino } from 'pino';
import { folderSettings } from '../../support/intake-settings.ts';
import { FolderIntake } from '../../../src/intake/folder/folder-intake.ts';
import { SystemClock } from '../../../src/ops/system-clock.ts';
import { openStore } from '../../../src/store/store.ts';

/** Takes in all files of ROOT/inbox, or is killed before. Run: node intake-child.ts ROOT */
const root = process.argv[2] ?? '';
const store = openStore({
  path: join(root, 'order-sync.db'),
  init: 'if-missing',
  namespace: { instance: 'test', prefix: 'os', secret: Buffer.alloc(32, 7) },
  upstream: 'sandbox',
  sinks: [{ name: 'folder', sources: null }],
});
const intake = new FolderIntake({
  openSkuMap: () => null,
  store,
  clock: new SystemClock(),
  logger: pino({ level: 'silent' }),
  config: {
    ...folderSettings,
    inbox: join(root, 'inbox'),
    work: join(root, 'work'),
    archive: join(root, 'archive'),
    rejected: join(root, 'rejected'),
    stableObservations: 1,
    stableMs: 0,
    unfinishedMs: 0,
  },
  hasSpace: async () => true,
  onFileEnded: () => undefined,
  onAccepted: () => process.stdout.write('accepted\n'),
});
process.stdout.write('ready\n');
await intake.scanOnce();
await intake.stop();
await store.close();
