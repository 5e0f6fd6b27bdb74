import { dirname } from 'node:path';
import { expect, it } from 'vitest';
import { allowedActions, type EntryActionName } from '../../../src/core/entry/states.ts';
import { versionHeader } from '../../../src/admin/control-protocol.ts';
import { programVersion } from '../../../src/ops/program-version.ts';
import { installation } from '../../cli/installation.ts';
import { names, nowMs, orders, referenceOf, rows, standingIn } from '../../support/operator.ts';
import { controlToken, operatorToken, startPages, viewerToken } from '../pages/running-pages.ts';
import { actionsOf, formsOf } from './forms.ts';

const every: readonly EntryActionName[] = [
  'retry',
  'hold',
  'release',
  'cancel',
  'reorder',
  'resolve',
];
const why = { actor: 'cli:anna', reason: 'asked by the shop' };

it.each(names)(
  'the command line, the control API and the pages agree on what may be done to an entry that is %s, and on attention',
  async (situation) => {
    const box = await standingIn(situation);
    const reference = referenceOf(box);
    const pages = await startPages({ store: box.store, nowMs: nowMs + 20_000, decides: true });
    const place = installation();
    const run = async (...args: readonly string[]) =>
      JSON.parse(
        (await place.run(...args, '--json', '--set', `data_dir=${dirname(box.path)}`)).stdout,
      );

    const shown = await run('orders', 'show', reference);
    const entry = shown.entries.find(
      (shownEntry: { reference: string }) => shownEntry.reference === reference,
    );
    const allowed: readonly EntryActionName[] = entry.allowed_actions;
    const detail = box.store.read
      .showEntry(reference)
      ?.entries.find((known) => known.reference === reference);
    expect(allowed).toEqual(detail === undefined ? null : allowedActions(detail));

    const isMaybeBought = /after a loss|needs_review, (accepted|mismatch)/.test(situation);
    expect(entry).toMatchObject(
      isMaybeBought ? { may_be_bought: true, outcome_unknown: false } : {},
    );
    const { headers, csrf } = await pages.as(operatorToken);
    const order = await pages.ask('/orders/shop1/1001', { headers });
    expect(order.text.includes('may have been bought')).toBe(isMaybeBought);
    const own = formsOf(order.text).filter(({ fields }) => fields['reference'] === reference);
    expect(
      actionsOf(own)
        .filter((action) => action !== 'reveal')
        .toSorted(),
    ).toEqual([...allowed].toSorted());
    const viewer = await pages.as(viewerToken);
    expect(formsOf((await pages.ask('/orders/shop1/1001', viewer)).text)).toEqual([]);

    // Both refuse everything else, in the same words, and change nothing.
    const before = rows(box, 'SELECT * FROM entries');
    for (const action of every.filter((name) => !allowed.includes(name))) {
      const asked = { ...orders(box)[action], reference, ...why };
      const units = action === 'resolve' ? { iccids: [] } : {};
      const control = await pages.ask('/control/commands', {
        method: 'POST',
        headers: {
          authorization: `Bearer ${controlToken}`,
          'content-type': 'application/json',
          [versionHeader]: programVersion,
        },
        body: JSON.stringify({ ...asked, ...units }),
      });
      expect(control.status).toBe(409);
      const answer = await pages.ask('/actions', {
        method: 'POST',
        headers: { ...headers, 'sec-fetch-site': 'same-origin' },
        form: {
          csrf,
          return_to: '/',
          form: 'a'.repeat(16),
          action,
          reference,
          reason: why.reason,
          as: 'fulfilled',
          confirm: reference,
        },
      });
      expect(answer.status).toBe(409);
      expect(answer.text).toContain(JSON.parse(control.text).error.message);
      expect(
        actionsOf(formsOf(answer.text))
          .filter((name) => name !== 'reveal')
          .toSorted(),
      ).toEqual([...allowed].toSorted());
    }
    expect(rows(box, 'SELECT * FROM entries')).toEqual(before);

    const status = await run('queue', 'status');
    const rowsShown: readonly { id: string; can_acknowledge: boolean }[] = status.attention;
    const attention = await pages.ask('/attention', { headers });
    for (const { id, can_acknowledge: canAcknowledge } of rowsShown) {
      expect(attention.text).toContain(encodeURIComponent(id));
      const review = await pages.ask(`/attention/review?id=${encodeURIComponent(id)}`, { headers });
      expect(actionsOf(formsOf(review.text)).includes('acknowledge')).toBe(canAcknowledge);
    }
    const reviewed = attention.text.match(/\/attention\/review\?id=[^"]+/g);
    expect(new Set(reviewed)).toHaveLength(rowsShown.length);
  },
  120_000,
);
