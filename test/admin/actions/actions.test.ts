import { stepsOf } from '../../support/steps.ts';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  operatorCommandSchema,
  type CallingCommand,
  type CommandResult,
} from '../../../src/core/operator/operator-command.ts';
import { OrderSyncError } from '../../../src/core/order-sync-error.ts';
import {
  act,
  names,
  nowMs,
  outOfStock,
  referenceOf,
  rows,
  standingIn,
} from '../../support/operator.ts';
import { answer as bought, close, fulfilled, line, Outbox } from '../../support/outbox.ts';
import { operatorToken, startPages, viewerToken, type Answer } from '../pages/running-pages.ts';
import { formsOf, type ShownForm } from './forms.ts';

const fromHere = { 'sec-fetch-site': 'same-origin' };
const orderPath = '/orders/shop1/1001';
const reason = 'asked by the shop';

async function openOutbox(orders = 1): Promise<Outbox> {
  const box = await Outbox.open();
  onTestFinished(() => box.close());
  await box.accept(
    Array.from({ length: orders }, (_, index) => line({ orderId: String(1001 + index) })),
  );
  return box;
}

/** Somebody's browser before the pages of an outbox. */
async function signedIn(
  box: Outbox,
  token = operatorToken,
  options: Parameters<typeof startPages>[0] = {},
) {
  const pages = await startPages({
    store: box.store,
    nowMs: nowMs + 20_000,
    decides: true,
    ...options,
  });
  const { headers, csrf } = await pages.as(token);
  const post = (
    form: Readonly<Record<string, string>>,
    more: Readonly<Record<string, string>> = fromHere,
  ) => pages.ask('/actions', { method: 'POST', headers: { ...headers, ...more }, form });
  const get = (path: string, more: Readonly<Record<string, string>> = {}): Promise<Answer> =>
    pages.ask(path, { headers: { ...headers, ...more } });
  /** As somebody else with the same token. */
  const getAnew = async (path: string): Promise<Answer> =>
    pages.ask(path, { headers: (await pages.as(token)).headers });
  const formsAt = async (path: string): Promise<readonly ShownForm[]> =>
    formsOf((await get(path)).text);
  const formNamed = async (path: string, title: string): Promise<ShownForm['fields']> => {
    const found = (await formsAt(path)).find((form) => form.title === title);
    if (found === undefined) throw new Error(`${path} has no form "${title}"`);
    return found.fields;
  };
  return { post, get, getAnew, csrf, formsAt, formNamed };
}

const statesOf = (box: Outbox): readonly string[] =>
  rows<{ state: string }>(box, 'SELECT state FROM entries ORDER BY id').map(({ state }) => state);
const decisions = (box: Outbox, action: string) =>
  box.store.read.auditLog({ action }, { limit: 100 }).rows;

/** What an operator fills in, besides the reason. */
function filledIn(action: string, reference: string): Readonly<Record<string, string>> {
  if (action === 'reorder') return { confirm: reference };
  return action === 'resolve'
    ? { as: 'fulfilled', note: 'seen in their list', units: 'CODE-AB12-CD34' }
    : {};
}

describe('a form of a page', () => {
  it.each(names)(
    'does what it says to an entry that is %s, and the audit log has who and why',
    async (situation) => {
      const offered = await (await signedIn(await standingIn(situation))).formsAt(orderPath);
      const ofEntries = offered.filter(
        ({ fields }) => fields['reference'] !== undefined && fields['action'] !== 'reveal',
      );
      for (const { title, fields } of ofEntries) {
        const box = await standingIn(situation);
        const browser = await signedIn(box);
        const form = (await browser.formsAt(orderPath)).find(
          (offer) => offer.title === title && offer.fields['reference'] === fields['reference'],
        )?.fields;
        const { action = '', reference = '' } = form ?? {};
        const answer = await browser.post({ ...form, ...filledIn(action, reference), reason });
        expect([title, answer.status, answer.headers['location']]).toEqual([title, 303, orderPath]);
        const asAudited = decisions(box, action).filter((row) => row.actor === 'page:anna');
        expect(asAudited).toMatchObject([{ subject: reference, reason }]);
      }
      expect(offered.every(({ title }) => title !== '')).toBe(true);
    },
    120_000,
  );

  it('sets a balance from the overview, which then says what is left', async () => {
    const box = await openOutbox();
    const browser = await signedIn(box);
    const form = await browser.formNamed('/', 'Set a balance');
    expect((await browser.get('/')).text).toContain('Balance: not known.');
    const wrong = await browser.post({ ...form, currency: 'USD', amount: '1,200', reason });
    expect([wrong.status, wrong.text]).toEqual([422, expect.stringContaining('1200.00 USD')]);
    await browser.post({ ...form, currency: 'USD', amount: '1200', reason });
    expect((await browser.get('/')).text).toContain('1200.00 USD are left');
    expect(decisions(box, 'set_balance')).toMatchObject([
      { actor: 'page:anna', subject: 'balance:USD', reason },
    ]);
    const viewer = await signedIn(box, viewerToken);
    expect((await viewer.formsAt('/')).map(({ title }) => title)).not.toContain('Set a balance');
  });

  it('is refused when it is stale, with the reason and what can be done instead', async () => {
    const box = await openOutbox();
    const browser = await signedIn(box);
    const form = await browser.formNamed(orderPath, 'Cancel');
    await act(box, { action: 'hold' });
    await act(box, { action: 'release' });
    await box.opened();
    const answer = await browser.post({ ...form, reason });
    expect(answer.status).toBe(409);
    expect(answer.text).toContain('is sending, so the entry cannot be changed by cancel');
    expect(answer.text).toContain('What can be done instead');
    expect(answer.text).toContain(`href="${orderPath}"`);
    expect(statesOf(box)).toEqual(['sending']);
    expect(decisions(box, 'cancel')).toEqual([]);
  });

  it('is performed once when it is submitted twice, also at the same time', async () => {
    const box = await openOutbox();
    const browser = await signedIn(box);
    const form = { ...(await browser.formNamed(orderPath, 'Hold')), reason };
    const answers = await Promise.all([browser.post(form), browser.post(form)]);
    answers.push(await browser.post(form));
    expect(answers.map(({ status, headers }) => [status, headers['location']])).toEqual(
      Array.from({ length: 3 }, () => [303, orderPath]),
    );
    expect(decisions(box, 'hold')).toHaveLength(1);
    // Another form asks anew, and is refused: it is held already.
    expect((await browser.post({ ...form, form: 'b'.repeat(16) })).status).toBe(409);
  });

  it('asks the supplier for the top-up plans of an eSIM, and shows them or why there are none', async () => {
    const box = await Outbox.open();
    onTestFinished(() => box.close());
    const esims = { operation: 'esim_order', variant: null, plan: 'es-1', quantity: 2 } as const;
    await box.accept([line(esims)]);
    const iccids = ['8944000000000000001', '8944000000000000019'] as const;
    const units = iccids.map((iccid) => ({ iccid, lpa: `LPA:1$a.b$${iccid}` }));
    const done = close(await box.opened(), { ...fulfilled, answer: { ...bought, units } });
    await stepsOf(box.store).closeAttempt(done);
    const asked: CallingCommand[] = [];
    const facts = { sellable: true, daily: false, minDays: null, maxDays: null };
    const plans = [{ plan: 'top-1gb', currencies: ['USD', 'EUR'], prices: {}, ...facts }];
    let plansProblem: string | null = null;
    const calls = async (command: CallingCommand): Promise<CommandResult> => {
      asked.push(command);
      return { kind: 'catalogue', products: [], productsProblem: null, plans, plansProblem };
    };
    const browser = await signedIn(box, operatorToken, { calls });
    expect((await browser.get(orderPath)).text).toContain(`<option value="${iccids[1]}">`);
    const form = await browser.formNamed(orderPath, 'Top-up plans');
    expect(form).toMatchObject({ iccid: iccids[0] });
    const shown = await browser.post({ ...form, iccid: iccids[1] });
    expect([shown.status, shown.text.includes('top-1gb'), shown.text.includes('USD, EUR')]).toEqual(
      [200, true, true],
    );
    const question = { action: 'read_catalogue', variants: [], plans: [], withinMs: 60_000 };
    expect(asked).toEqual([{ ...question, iccid: iccids[1] }]);
    plansProblem = 'no slot was free';
    const failed = await browser.post(form);
    expect(failed.status).toBe(503);
    expect(failed.text).toContain(`The top-ups of ${iccids[0]}: no slot was free`);
    // The form of a page asks for nothing else, and no command takes a field that it does not have.
    expect((await browser.post({ ...form, iccid: '' })).status).toBe(422);
    const command = { ...question, iccid: iccids[0] };
    expect(operatorCommandSchema.safeParse(command).success).toBe(true);
    expect(operatorCommandSchema.safeParse({ ...command, actor: 'anna' }).success).toBe(false);
    const viewer = await signedIn(box, viewerToken, { calls });
    expect(await viewer.formsAt(orderPath)).toEqual([]);
    expect((await viewer.post({ ...form, csrf: viewer.csrf })).status).toBe(403);
    expect(asked).toHaveLength(2);
  });

  it('reads the configuration again as the operator who asks, and says what that changed or why it was refused', async () => {
    const asked: string[] = [];
    const report = { applied: ['wholesale.keys[].value'], needRestart: ['instance'], warnings: [] };
    let problem: OrderSyncError | null = null;
    const reload = async (who: string) => {
      asked.push(who);
      if (problem !== null) throw problem;
      return report;
    };
    const pages = await startPages({ decides: true, reload });
    const as = async (token: string) => {
      const { headers, csrf } = await pages.as(token);
      const form = { csrf, action: 'reload', return_to: '/config' };
      const answer = await pages.ask('/actions', {
        method: 'POST',
        headers: { ...headers, ...fromHere },
        form,
      });
      return { answer, next: (await pages.ask('/config', { headers })).text };
    };
    expect((await as(viewerToken)).answer.status).toBe(403);
    const { answer, next } = await as(operatorToken);
    expect([answer.status, answer.headers['location']]).toEqual([303, '/config']);
    expect(next).toContain(
      'Done: in use now: wholesale.keys[].value; in use after a restart: instance.',
    );
    problem = new OrderSyncError('CONFIG_INVALID', 'the file has a mistake:\n  it is empty', {
      hint: 'correct it',
    });
    const refused = (await as(operatorToken)).answer;
    expect([
      refused.status,
      refused.text.includes('it is empty'),
      refused.text.includes('correct it'),
    ]).toEqual([422, true, true]);
    expect(asked).toEqual(['page:anna', 'page:anna']);
  });

  it('may be sent again after it was refused', async () => {
    const box = await openOutbox();
    const browser = await signedIn(box);
    const form = await browser.formNamed(orderPath, 'Hold');
    const refused = await browser.post({ ...form, reason: 'x' });
    expect([refused.status, refused.text.includes('A reason has 3 to')]).toEqual([422, true]);
    expect((await browser.post({ ...form, reason })).status).toBe(303);
    expect(statesOf(box)).toEqual(['held']);
  });

  it('orders again only when the old reference was typed, and once', async () => {
    const box = await standingIn('rejected');
    const browser = await signedIn(box);
    const form = { ...(await browser.formNamed(orderPath, 'Order again')), reason };
    const wrong = await browser.post({ ...form, confirm: 'os-something-else' });
    expect([wrong.status, wrong.text.includes('was not confirmed')]).toEqual([409, true]);
    expect(statesOf(box)).toEqual(['rejected']);
    const confirmed = { ...form, confirm: referenceOf(box) };
    expect((await browser.post(confirmed)).status).toBe(303);
    expect((await browser.post(confirmed)).status).toBe(303);
    expect((await browser.post({ ...confirmed, form: 'c'.repeat(16) })).status).toBe(409);
    expect(statesOf(box)).toEqual(['rejected', 'pending']);
  });
});

describe('an action', () => {
  it.each<[string, Readonly<Record<string, string>>]>([
    ['of another site', { 'sec-fetch-site': 'cross-site' }],
    ['of another name of the same site', { 'sec-fetch-site': 'same-site' }],
    ['of another origin', { origin: 'http://evil.example' }],
  ])('%s is refused', async (_, headers) => {
    const box = await openOutbox();
    const browser = await signedIn(box);
    const form = { ...(await browser.formNamed(orderPath, 'Hold')), reason };
    expect((await browser.post(form, headers)).status).toBe(403);
    expect(statesOf(box)).toEqual(['pending']);
  });

  it('without the secret of its session, or with that of another one, is refused', async () => {
    const box = await openOutbox();
    const browser = await signedIn(box);
    const { csrf: _, ...form }: Record<string, string> = {
      ...(await browser.formNamed(orderPath, 'Hold')),
      reason,
    };
    expect((await browser.post(form)).status).toBe(403);
    expect((await browser.post({ ...form, csrf: `${browser.csrf.slice(1)}a` })).status).toBe(403);
    expect(statesOf(box)).toEqual(['pending']);
  });

  it('of a viewer is refused, and a viewer is shown no form', async () => {
    const box = await openOutbox();
    const viewer = await signedIn(box, viewerToken);
    for (const path of ['/', '/attention', '/orders?state=pending', orderPath, '/deliveries'])
      expect(await viewer.formsAt(path)).toEqual([]);
    const form = {
      csrf: viewer.csrf,
      form: 'a'.repeat(16),
      action: 'hold',
      reference: referenceOf(box),
      reason,
    };
    expect((await viewer.post(form)).status).toBe(403);
    expect(statesOf(box)).toEqual(['pending']);
  });

  it('that no form offers is refused: an order, a call, an unknown one', async () => {
    const box = await openOutbox();
    const { csrf, post } = await signedIn(box);
    for (const action of ['submit', 'reconcile', 'seal_again', 'nonsense', ''])
      expect((await post({ csrf, form: 'a'.repeat(16), action, lines: '[]', reason })).status).toBe(
        422,
      );
  });

  it('leads back to a page of the worker only', async () => {
    const box = await openOutbox();
    const browser = await signedIn(box);
    const form = {
      ...(await browser.formNamed(orderPath, 'Hold')),
      reason,
      return_to: '//evil.example/x',
    };
    expect((await browser.post(form)).headers['location']).toBe('/');
  });
});

describe('showing codes', () => {
  it('is a decision with a reason, kept by no page', async () => {
    const box = await openOutbox();
    await stepsOf(box.store).closeAttempt(close(await box.opened(), fulfilled));
    const browser = await signedIn(box);
    const form = await browser.formNamed(orderPath, 'Show the codes');
    expect((await browser.post(form)).status).toBe(422);
    const shown = await browser.post({ ...form, reason });
    expect([
      shown.status,
      shown.text.includes('SECRET-CODE'),
      shown.headers['cache-control'],
    ]).toEqual([200, true, 'no-store']);
    expect(decisions(box, 'read_codes')).toMatchObject([{ actor: 'page:anna', reason }]);
    expect((await browser.get(orderPath)).text).not.toContain('SECRET-CODE');
    expect((await browser.get(`/actions/${form['form']}`)).text).not.toContain('SECRET-CODE');
  });
});

describe('an action for many', () => {
  it('shows first how many entries there are, then does it once, and shows what was done', async () => {
    const box = await openOutbox(3);
    const browser = await signedIn(box);
    const list = '/orders?state=pending';
    const asked = { ...(await browser.formNamed(list, 'Decide on all of them')), order: 'hold' };
    const preview = await browser.post(asked);
    expect([preview.status, preview.text.includes('3 entries match: 3 pending')]).toEqual([
      200,
      true,
    ]);
    expect(statesOf(box)).toEqual(['pending', 'pending', 'pending']);
    // What comes in now was seen by nobody.
    await box.accept([line({ orderId: 'later' })], null, nowMs + 30_000);
    const form = { ...formsOf(preview.text)[0]?.fields, reason };
    const done = await browser.post(form);
    expect(done.status).toBe(303);
    const report = await browser.get(done.headers['location'] ?? '');
    expect(report.text).toContain('Hold: 3 of 3 entries are done');
    expect((await browser.post(form)).headers['location']).toBe(done.headers['location']);
    expect(statesOf(box)).toEqual(['held', 'held', 'held', 'pending']);
    expect(decisions(box, 'hold')).toHaveLength(3);
    expect(decisions(box, 'hold')[0]).toMatchObject({ actor: 'page:anna', reason });
  });

  it('concerns the orders whose boxes were set, and no other', async () => {
    const box = await openOutbox(3);
    const browser = await signedIn(box);
    const list = (await browser.get('/orders')).text;
    const boxes = [...list.matchAll(/type="checkbox" name="orders" value="(\d+)"/g)].map(([, id]) =>
      Number(id),
    );
    expect(boxes).toHaveLength(3);
    const [first, , third] = boxes;
    const csrf = /name="csrf" value="([^"]+)"/.exec(list)?.[1] ?? '';
    const form = {
      csrf,
      return_to: '/orders',
      form: 'AAAAAAAAAAAAAAAA',
      action: 'bulk',
      order: 'hold',
    };
    const preview = await browser.post({ ...form, orders: `${first},${third}` });
    expect(preview.text).toContain('2 entries match: 2 pending');
    const done = await browser.post({ ...formsOf(preview.text)[0]?.fields, reason });
    expect((await browser.get(done.headers['location'] ?? '')).text).toContain(
      'Hold: 2 of 2 entries are done',
    );
    expect(statesOf(box).toSorted()).toEqual(['held', 'held', 'pending']);
    expect((await browser.post(form)).status).toBe(422);
    expect((await browser.post({ ...form, orders: '1,x' })).status).toBe(422);
  });

  it('leaves what changed after the preview', async () => {
    const box = await openOutbox(2);
    const browser = await signedIn(box);
    const preview = await browser.post({
      ...(await browser.formNamed('/orders?state=pending', 'Decide on all of them')),
      order: 'hold',
    });
    await box.opened({ nowMs: 2000 });
    const done = await browser.post({ ...formsOf(preview.text)[0]?.fields, reason });
    const report = await browser.get(done.headers['location'] ?? '');
    // The one that is under way is not found any more when the run begins.
    expect(report.text).toContain('Hold: 1 of 1 entries are done');
    expect(statesOf(box).toSorted()).toEqual(['held', 'sending']);
  });

  it('acknowledges the rows of the attention list in which nothing is open', async () => {
    const box = await openOutbox(2);
    for (let times = 0; times < 2; times += 1) {
      const rejected = { ...outOfStock, state: 'rejected' } as const;
      await stepsOf(box.store).closeAttempt(close(await box.opened(), rejected));
    }
    const browser = await signedIn(box);
    const preview = await browser.post(
      await browser.formNamed('/attention', 'Acknowledge all of them'),
    );
    expect(preview.text).toContain('2 rows would leave the list: 2 rejected');
    const done = await browser.post({ ...formsOf(preview.text)[0]?.fields, reason });
    expect((await browser.get(done.headers['location'] ?? '')).text).toContain(
      '2 rows left the attention list',
    );
    expect(box.store.read.attention(10)).toEqual([]);
    expect(decisions(box, 'acknowledge')).toHaveLength(2);
  });

  it('orders refused lines again for the number that was shown, and for no other', async () => {
    const box = await openOutbox(3);
    const rejected = { ...outOfStock, state: 'rejected' } as const;
    for (let times = 0; times < 3; times += 1)
      await stepsOf(box.store).closeAttempt(close(await box.opened(), rejected));
    const browser = await signedIn(box);
    const preview = await browser.post(await browser.formNamed('/attention', 'Order again all 3'));
    expect(preview.text).toContain('3 entries match: 3 rejected');
    expect(preview.text).toContain('3 orders, 3 lines of unknown cost, the oldest for');
    expect(preview.text).toContain('Type 3 to confirm');
    const form = { ...formsOf(preview.text)[0]?.fields, reason };
    for (const count of ['', '2'])
      expect((await browser.post({ ...form, count })).text).toContain('3 entries would be ordered');
    expect(statesOf(box)).toEqual(['rejected', 'rejected', 'rejected']);
    const done = await browser.post({ ...form, count: '3' });
    expect((await browser.get(done.headers['location'] ?? '')).text).toContain(
      'Order again: 3 of 3 entries are done',
    );
    await browser.post({ ...form, count: '3' });
    expect(statesOf(box).toSorted()).toEqual(
      'pending pending pending rejected rejected rejected'.split(' '),
    );
    expect(decisions(box, 'reorder')).toHaveLength(3);
    // One of them was ordered again since: the number is not that of the preview any more.
    expect((await browser.post({ ...form, form: 'A'.repeat(16), count: '3' })).status).toBe(409);
  });

  it('is offered only where a command can say what the list shows', async () => {
    const browser = await signedIn(await openOutbox());
    const titles = async (path: string) => (await browser.formsAt(path)).map(({ title }) => title);
    expect(await titles('/orders')).toEqual([]);
    expect(await titles('/orders?state=pending&search=1001')).toEqual([]);
    expect(await titles('/orders?state=fulfilled')).toEqual([]);
    expect(await titles('/orders?source=shop1')).toEqual(['Decide on all of them']);
  });
});

describe('a scope', () => {
  it('is paused and resumed from the overview', async () => {
    const box = await openOutbox();
    const browser = await signedIn(box);
    const pause = await browser.formNamed('/', 'Pause buying');
    expect((await browser.get('/')).text).toContain('<option value="account">');
    expect((await browser.post({ ...pause, reason })).status).toBe(422);
    expect((await browser.post({ ...pause, scope: 'nonsense', reason })).status).toBe(422);
    expect((await browser.get('/')).text).not.toContain('Done:');
    expect((await browser.post({ ...pause, scope: 'account', reason })).status).toBe(303);
    // The script of another page does not take it away.
    const told = '<p class="toast" role="status">Done: account is paused.</p>';
    expect((await browser.get('/orders', { 'sec-fetch-dest': 'empty' })).text).toContain(told);
    expect((await browser.get('/')).text).toContain(told);
    expect((await browser.get('/')).text).not.toContain('Done:');
    // Only the session that did it is told.
    expect((await browser.getAnew('/')).text).not.toContain('Done:');
    expect(box.store.read.pauses()).toMatchObject([
      { scope: 'account', openedBy: 'page:anna', message: reason },
    ]);
    expect(
      (await browser.post({ ...(await browser.formNamed('/', 'Resume')), reason })).status,
    ).toBe(303);
    expect(box.store.read.pauses()).toEqual([]);
    expect((await browser.get('/')).text).toContain('Paused last: account, until');
  });
});

describe('a result', () => {
  it('is delivered again to one sink', async () => {
    const box = await openOutbox();
    await stepsOf(box.store).closeAttempt(close(await box.opened(), fulfilled));
    const [due] = await box.store.results.dueDeliveries('folder', nowMs, 1);
    await box.store.results.closeDelivery({
      requestId: 1,
      sink: 'folder',
      version: due?.version ?? 0,
      nowMs,
    });
    const browser = await signedIn(box);
    expect(
      (await browser.post({ ...(await browser.formNamed(orderPath, 'Deliver again')), reason }))
        .status,
    ).toBe(303);
    expect(await box.store.results.dueDeliveries('folder', nowMs * 2, 1)).toHaveLength(1);
    expect(decisions(box, 'redeliver')).toMatchObject([{ actor: 'page:anna', reason }]);
  });
});
