import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commandLine } from '../read-back/shop-worker.ts';
import { customerNoteFor } from '../woocommerce/note-of-units.ts';
import { folder, ShopAndWorker, whySkipped, within } from './shop-and-worker.ts';

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"' };
/** A text as a browser shows it. WordPress stores some characters as entities. */
const shownAs = (html: string): string =>
  html.replaceAll(
    /&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi,
    (text, hex?: string, decimal?: string, name?: string) =>
      name === undefined
        ? String.fromCodePoint(Number(decimal ?? `0x${hex}`))
        : (entities[name] ?? text),
  );

describe.skipIf(folder === undefined)(
  `notes in orders of a real WooCommerce${whySkipped}`,
  { timeout: 300_000 },
  () => {
    let both: ShopAndWorker;
    beforeAll(async () => void (both = await ShopAndWorker.open()));
    afterAll(() => both?.close());

    /** Another pace: so many ms pass between two orders to the supplier. */
    const setPace = async (time_scale: number, window_ms: number, orders: number): Promise<void> =>
      await both.restart('SIGTERM', (config) => {
        Object.assign(config, { trial: { time_scale, window_ms, transit_ms: 50 } });
        Object.assign(config['wholesale'] ?? {}, { limits: { requests: 6000, orders } });
      });

    const rewrite = async (id: string) => {
      const which = ['--sink', 'woocommerce:main', '--order', id, '--reason', 'it is tried'];
      return await commandLine(both.place, 'results', 'rewrite', ...which);
    };

    it('mails once, with every code, when 26 lines are delivered one by one', async () => {
      await setPace(0.1, 500, 1);
      const lines = Array.from({ length: 26 }, () => both.line('STEAM-20'));
      const id = await both.shop.order(lines);
      await both.completed(id);
      expect(await both.shop.notes(id, true)).toHaveLength(1);
      expect(both.timesMailed(id)).toEqual(lines.map(() => 1));
      expect(await both.shop.notes(id, false)).toEqual([]);
    });

    it('mails the last code although each line comes more than ten minutes after the one before', async () => {
      // Ten minutes take six seconds here, and the supplier is asked for a line every nine.
      await setPace(0.01, 9000, 1);
      const lines = Array.from({ length: 14 }, () => both.line('STEAM-20'));
      const id = await both.shop.order(lines);
      await expect
        .poll(() => both.statesOf(id), { ...within, timeout: 200_000 })
        .toEqual(lines.map(() => 'fulfilled'));
      await both.completed(id);
      const mails = (await both.shop.notes(id, true)).length;
      process.stdout.write(
        `${both.shop.versions}; 14 lines 9 s apart, mails after 6 s: ${mails}\n`,
      );
      // After ten mails the customer waits for the last one.
      expect(mails).toBeGreaterThanOrEqual(5);
      expect(mails).toBeLessThanOrEqual(11);
      expect(both.timesMailed(id)).toEqual(lines.map(() => 1));
      await setPace(0.1, 50, 2000);
    });

    it('completes an order whose note the shop refuses, and says what to do', async () => {
      both.shop.setFault({ match: 'POST .*/notes', status: 400, times: 1000 });
      const id = await both.shop.order([both.line('STEAM-20')]);
      await both.completed(id);
      both.shop.setFault(null);
      expect((await rewrite(id)).code).toBe(0);
      await expect.poll(() => both.timesMailed(id), within).toEqual([1]);
    });

    it('mails once although answers are lost, and not again what an operator deleted', async () => {
      const ids: string[] = [];
      for (const match of ['POST .*/notes', 'PUT .*/orders/']) {
        for (const cut of ['response', 'request']) {
          both.shop.setFault({ match, cut, times: 1 });
          const id = await both.shop.order([both.line('STEAM-20')]);
          ids.push(id);
          await both.completed(id);
        }
      }
      both.shop.setFault(null);
      for (const id of ids) await expect.poll(() => both.timesMailed(id), within).toEqual([1]);
      const [id = ''] = ids;
      for (const note of (await both.shop.call('GET', `/orders/${id}/notes`)).list)
        await both.shop.call('DELETE', `/orders/${id}/notes/${String(note['id'])}?force=true`);
      expect((await rewrite(id)).code).toBe(0);
      const waiting = () =>
        both.place.query<{ n: number }>(
          'SELECT count(*) AS n FROM deliveries WHERE done_version < due_version',
        )[0]?.n;
      await expect.poll(waiting, within).toBe(0);
      expect([both.timesMailed(id), await both.shop.notes(id, true)]).toEqual([[1], []]);
    });

    it('shows commands that can be copied, names of lines that were not accepted, and no marker', async () => {
      const topUp = both.line('TOPUP-FR', 2);
      const id = await both.shop.order([both.line('STEAM-20'), topUp]);
      await expect.poll(() => both.shop.notes(id, false), within).toHaveLength(1);
      const [note = ''] = await both.shop.notes(id, false);
      expect(note).toContain('Needs review: Product TOPUP-FR (TOPUP-FR) × 2');
      expect(note).toContain(`<code>order-sync orders show ${id} --source main</code>`);
      const code = both.codesOf(id)[0] ?? 'no code';
      const found = () => both.shop.mails(id).find((body) => body.includes(code)) ?? '';
      await expect.poll(found, within).toContain(code);
      const mail = found();
      expect(mail).toContain('<!--order-sync:');
      expect(mail.replaceAll(/<!--[\s\S]*?-->/g, '')).not.toMatch(/order-sync|[0-9a-f]{16}/);
    });

    const setTables = async (charset: string, collation: string) =>
      await both.shop.php(
        `global $wpdb; $wpdb->query("ALTER TABLE $wpdb->comments CONVERT TO CHARACTER SET ${charset} COLLATE ${collation}");`,
      );

    // Shops that were set up before WordPress 4.2 may have tables that hold characters of three
    // bytes at most.
    it.each([
      ['utf8mb4', 'utf8mb4_unicode_ci'],
      ['utf8mb3', 'utf8mb3_general_ci'],
    ])(
      'keeps every character of a code in notes and mails, and shows a time as its day: %s',
      async (...tables) => {
        await setTables(...tables);
        const code = String.raw`A\B\\C--D "E" <F> & 'G' 🎮 ü`;
        const id = await both.shop.order([both.line('MUG')]);
        const { value } = await both.shop.call('GET', `/orders/${id}`);
        const { text } = customerNoteFor(value, { code, expires_at: '2029-11-22T12:41:44.624Z' });
        const { status } = await both.shop.call('POST', `/orders/${id}/notes`, {
          note: text,
          customer_note: true,
        });
        await setTables('utf8mb4', 'utf8mb4_unicode_ci');
        expect(status).toBe(201);
        const [note = ''] = await both.shop.notes(id, true);
        expect(shownAs(/Code: <code>(.*?)<\/code>/.exec(note)?.[1] ?? '')).toBe(code);
        expect(note).toContain('Valid until: <code>2029-11-22</code>');
        const mail = both.shop.mails(id).find((body) => body.includes('Valid until'));
        expect(shownAs(/Code: <code[^>]*>(.*?)<\/code>/.exec(mail ?? '')?.[1] ?? '')).toBe(code);
      },
    );
  },
);
