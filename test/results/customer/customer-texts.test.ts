import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Unit } from '../../../src/core/answers/order-answer.ts';
import { renderResultDocument } from '../../../src/core/result/result-document.ts';
import { SystemClock } from '../../../src/ops/system-clock.ts';
import { customerTexts } from '../../../src/results/customer-texts.ts';
import { WriteBack } from '../../../src/results/write-back.ts';
import { folderSink, ResultFolder } from '../../../src/results/result-folder.ts';
import type { CustomerSettings } from '../../../src/results/settings.ts';
import { answer, close, fulfilled, line, nothing, Outbox } from '../../support/outbox.ts';
import { fullEsim, lpa } from './rendering.ts';
import { redeliver } from '../../support/redeliver.ts';

let outbox: Outbox;
/** Every line that was logged. */
let log: string[];
beforeEach(async () => {
  outbox = await Outbox.open();
  log = [];
});
afterEach(() => outbox.close());

const settings: CustomerSettings = { templates: null, qr: [] };
const logger = pino({}, { write: (text: string) => void log.push(text) });

/** Takes in a line and closes its attempt with these units; fewer than were ordered leave it `placed`. */
async function buy(units: readonly Unit[], changes: Parameters<typeof line>[0] = {}): Promise<void> {
  await outbox.accept([line(changes)]);
  const attempt = await outbox.opened();
  const isComplete = units.length >= (changes.quantity ?? 1);
  const settlement = { ...fulfilled, answer: { ...answer, units } };
  const open = { state: 'placed', nextStep: 'lookup', dueAtMs: 60_000 } as const;
  await outbox.store.submission.closeAttempt(close(attempt, isComplete ? settlement : { ...settlement, ...open }));
}

const esim = { operation: 'esim_order', variant: null, plan: 'fr-1gb' } as const;

/** Writes the results that are due with these settings, and reads that of an order back, as text. */
async function written(customer: CustomerSettings | null, orderId = '1001'): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'order-sync-texts-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  await redeliver(outbox.store, {}, 3000);
  const texts = customer === null ? null : customerTexts(customer, logger);
  const deps = { store: outbox.store, clock: new SystemClock(), random: Math.random, logger, texts };
  const writeBack = new WriteBack(deps, [folderSink(new ResultFolder(folder, { mode: 0o600, gid: null }))]);
  await writeBack.start();
  await writeBack.stop();
  return readFileSync(join(folder, 'shop1', `${orderId}.json`), 'utf8');
}

/** The result of the order 1001 as it is without any text. */
function bareResult(): string {
  const found = outbox.store.read.findOrder('shop1', '1001');
  return renderResultDocument(outbox.store.read.resultDocument(found?.requestId ?? 0).document);
}

describe('the result of an order', () => {
  it('is the same byte for byte where no text is configured', async () => {
    await buy([{ code: 'SECRET-CODE' }]);
    expect(await written(null)).toBe(bareResult());
    expect(bareResult()).not.toContain('customer');
  });

  it('has the text for its customer where one is configured, and is else unchanged', async () => {
    await buy([{ code: 'SECRET-CODE' }]);
    const { customer, ...rest } = JSON.parse(await written(settings));
    expect(`${JSON.stringify(rest, null, 2)}\n`).toBe(bareResult());
    expect(customer).toEqual({
      text: 'Your order 1001 is complete.\n\nCode: SECRET-CODE\n',
      html: expect.stringContaining('<bdi dir="ltr">SECRET-CODE</bdi>'),
    });
    expect(await written(settings)).toBe(await written(settings));
  });

  it('has null where nothing was delivered yet', async () => {
    await outbox.accept([line()]);
    await outbox.store.submission.closeAttempt(
      close(await outbox.opened(), { ...nothing, state: 'rejected', outcomeUnknown: false, dueAtMs: 0 }),
    );
    expect(JSON.parse(await written(settings)).customer).toBeNull();
  });

  it('says what is there and what comes later', async () => {
    await buy([{ code: 'CODE-1' }, { code: 'CODE-2' }], { quantity: 5 });
    const { customer } = JSON.parse(await written(settings));
    expect(customer.text).toContain('Code: CODE-1\n\nCode: CODE-2\n\nStill to come: 3.');
  });

  it('never has a unit of another order', async () => {
    for (const id of ['1', '2', '3']) await buy([{ code: `CODE-OF-${id}` }], { orderId: id });
    for (const id of ['1', '2', '3']) {
      const { customer } = JSON.parse(await written(settings, id));
      const codes = `${customer.text}${customer.html}`.match(/CODE-OF-\d/g);
      expect(new Set(codes)).toEqual(new Set([`CODE-OF-${id}`]));
    }
  });

  it('has null for more units than anybody reads', async () => {
    const codes = Array.from({ length: 501 }, (_, index) => ({ code: `CODE-${index}` }));
    await buy(codes, { quantity: 501 });
    expect(JSON.parse(await written(settings))).toMatchObject({ state: 'completed', customer: null });
  });

  it('has the QR codes of its eSIMs only where they are configured', async () => {
    await buy([fullEsim], esim);
    const units = async (changes: Partial<CustomerSettings>) =>
      JSON.parse(await written({ ...settings, ...changes })).lines[0].entries[0].units;
    const png = expect.stringMatching(/^data:image\/png;base64,/);
    const svg = expect.stringMatching(/^<svg /);
    expect(await units({})).toEqual([fullEsim]);
    expect(await units({ qr: ['png'] })).toEqual([{ ...fullEsim, qr_png: png }]);
    expect(await units({ qr: ['svg'] })).toEqual([{ ...fullEsim, qr_svg: svg }]);
    expect(await units({ qr: ['png', 'svg'] })).toEqual([{ ...fullEsim, qr_png: png, qr_svg: svg }]);
    expect(bareResult()).not.toContain('qr_png');
  });

  it('is written without a text when that cannot be made, and the log has no code', async () => {
    await buy([{ code: 'SECRET\uD800CODE' }]);
    expect(await written({ ...settings, qr: ['png'] })).toBe(bareResult());
    const failures = log.filter((text) => text.includes('could not be written')).map((text) => JSON.parse(text));
    expect(failures).toMatchObject([{ level: 50, source: 'shop1', order_id: '1001', kind: 'Error' }]);
    expect(log.join('')).not.toMatch(/SECRET|CODE/);
  });

  it('is written without a text when an error that nobody thought of repeats a code in its message', async () => {
    await buy([{ ...fullEsim, lpa }], esim);
    const thrown = new Error(`cannot read ${lpa}\n    at ${lpa}`);
    const texts = customerTexts(settings, logger);
    const due = await outbox.store.results.dueDeliveries('folder', 3000, 1);
    const [delivery] = due;
    const document = { ...delivery?.document };
    Object.defineProperty(document, 'lines', {
      get: () => {
        throw thrown;
      },
    });
    // @ts-expect-error -- no result looks like this
    expect(await texts(document, delivery?.ordered)).toBe(document);
    expect(log.join('')).toContain('the text for the customer could not be written');
    expect(log.join('')).not.toContain('K2-ABCDE');
  });
});
