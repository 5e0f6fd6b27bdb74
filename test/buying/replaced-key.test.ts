import { stepsOf } from '../support/steps.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { withoutAnswer, type Outcome } from '../../src/core/answers/outcome.ts';
import { Attempt, type AttemptDeps } from '../../src/buying/run-call.ts';
import { takeKey } from '../../src/buying/proofs/budgeted-read.ts';
import { probeDuePauses } from '../../src/buying/proofs/probes.ts';
import { readCatalogue } from '../../src/buying/proofs/read-catalogue.ts';
import type { Destination, Plan, Product } from '../../src/wholesale/catalogue/catalogue-item.ts';
import { CatalogueWalk } from '../../src/wholesale/catalogue/catalogue-walk.ts';
import { wireSchema } from '../../src/wholesale/connector/wire.ts';
import { attemptDeps } from '../support/attempt-deps.ts';
import { close, fulfilled, line, nothing, Outbox } from '../support/outbox.ts';

let outbox: Outbox | null = null;
afterEach(async () => {
  await outbox?.close();
  outbox = null;
});

const { signal } = new AbortController();

type Call = { readonly keyValue: string };

/**
 * A worker whose calls with the old value of its key end like this. Before the answer arrives, the
 * key has another value.
 */
async function workerOfReplacedKey(
  outcome: Outcome,
  newValue: string | null,
): Promise<AttemptDeps> {
  outbox = await Outbox.open();
  const { store } = outbox;
  let value: string | null = 'old';
  const answer = async ({ keyValue }: Call): Promise<Outcome> => {
    value = newValue;
    return keyValue === 'old' ? outcome : withoutAnswer('dropped', true, 'the connection ended');
  };
  const lookUp = async (call: Call) => ({ kind: 'failed', outcome: await answer(call) }) as const;
  const closed = async (call: Call) =>
    ({ outcome: await answer(call), verdict: 'closed' }) as const;
  return {
    ...attemptDeps(store, { submit: answer, lookUp, probe: closed }),
    keyValue: () => value,
  };
}

function present(): Outbox {
  if (outbox === null) throw new Error('the outbox is open');
  return outbox;
}

async function runAttempt(deps: AttemptDeps, step: 'send' | 'lookup'): Promise<void> {
  const key = takeKey(deps, step === 'send' ? 'spend' : 'read');
  if (key === null) throw new Error('a slot is free');
  const attempt = await present().opened({ step, nowMs: deps.clock.wallMs() });
  await new Attempt(deps).run(attempt, key, signal);
}

/** Opens a pause of the account and probes it. */
async function probe(deps: AttemptDeps): Promise<void> {
  const pause = {
    scope: 'account',
    reason: 'api_disabled',
    message: '',
    openedBy: 'worker',
    probeAtMs: 1,
    nowMs: 1,
  };
  await deps.store.pauses.open(pause);
  await deps.pauses.refresh();
  await probeDuePauses(deps, { signal, onChange: () => undefined });
}

async function checkLookups(deps: AttemptDeps): Promise<void> {
  await present().accept([line()]);
  await stepsOf(deps.store).closeAttempt(close(await present().opened(), fulfilled));
  await deps.lookups.tryOne(deps, signal);
}

async function readPage(deps: AttemptDeps): Promise<void> {
  const { paging } = wireSchema.parse({}).catalogue;
  const fetch = async (_path: string, call: Call) => ({
    kind: 'failed' as const,
    outcome: (await deps.wholesale.probe({ question: 'products', ...call, signal })).outcome,
  });
  const walk = <T>() =>
    new CatalogueWalk<T>({ path: '/products', paging, origin: 'http://api', basePath: '', fetch });
  const wholesale = {
    products: walk<Product>,
    destinations: walk<Destination>,
    plans: walk<Plan>,
    topups: walk<Plan>,
  };
  await readCatalogue(
    { ...deps, wholesale },
    { variants: ['steam-10'], plans: [], withinMs: 500, signal },
  );
}

async function lookUpEntry(deps: AttemptDeps): Promise<void> {
  await present().accept([line()]);
  await stepsOf(deps.store).closeAttempt(close(await present().opened(), nothing));
  await runAttempt(deps, 'lookup');
}

async function submitEntry(deps: AttemptDeps): Promise<void> {
  await present().accept([line()]);
  await runAttempt(deps, 'send');
}

const calls = [
  ['a probe', probe],
  ['a lookup that checks lookups', checkLookups],
  ['a page of the catalogue', readPage],
  ['the lookup of an entry', lookUpEntry],
  ['the submission of an entry', submitEntry],
] as const;

const denied: Outcome = {
  ...withoutAnswer('invalid_key', true, 'revoked'),
  http: 401,
  code: 'invalid_key',
};
const limited: Outcome = {
  ...withoutAnswer('rate_limited', true, 'slow down'),
  http: 429,
  retryAfterMs: 600_000,
};

/** What is recorded of the key: its pauses and whether it backs off, now and after a restart. */
async function stateOfKey({ store, gate, pauses }: AttemptDeps) {
  const scopes = (await store.pauses.all()).map((pause) => pause.scope);
  const backOffs = await stepsOf(store).budget.restoreBackOffs();
  expect(pauses.all.map((pause) => pause.scope)).toEqual(scopes);
  return { isPaused: scopes.includes('key:main'), backOffMs: gate.usage()[0]?.backOffMs, backOffs };
}

describe.each(calls)('an answer to %s', (_name, run) => {
  it.each([
    ['401', denied],
    ['429', limited],
  ])(
    'changes nothing for the new value of a key that was replaced meanwhile: %s',
    async (_status, outcome) => {
      const deps = await workerOfReplacedKey(outcome, 'new');
      await run(deps);
      expect(await stateOfKey(deps)).toEqual({ isPaused: false, backOffMs: 0, backOffs: [] });
    },
  );

  it('pauses the key when it is a 401 and the key was not replaced', async () => {
    const deps = await workerOfReplacedKey(denied, 'old');
    await run(deps);
    expect(await stateOfKey(deps)).toMatchObject({ isPaused: true, backOffMs: 0, backOffs: [] });
  });

  it('makes the key back off when it is a 429 and the key was not replaced', async () => {
    const deps = await workerOfReplacedKey(limited, 'old');
    await run(deps);
    const { isPaused, backOffMs, backOffs } = await stateOfKey(deps);
    expect(isPaused).toBe(false);
    expect(backOffMs).toBeGreaterThan(590_000);
    expect(backOffs).toMatchObject([{ keyName: 'main' }]);
  });

  it('pauses no key that is not configured any more', async () => {
    const deps = await workerOfReplacedKey(denied, null);
    await run(deps);
    expect(await stateOfKey(deps)).toMatchObject({ isPaused: false });
  });
});

const callsWithoutPause = calls.filter(([, run]) => run !== probe);

describe.each(callsWithoutPause)('a 403 about the account, as the answer to %s', (_name, run) => {
  it.each([
    ['old', false],
    ['new', true],
  ])(
    'pauses the account, which is probed at once only after the key was replaced: %s',
    async (value, isDue) => {
      const deps = await workerOfReplacedKey(
        { ...denied, row: 'account_not_allowed', http: 403 },
        value,
      );
      await run(deps);
      const [pause] = await deps.store.pauses.all();
      expect(pause).toMatchObject({ scope: 'account', reason: 'account_not_allowed' });
      expect((pause?.probeAtMs ?? 0) <= deps.clock.steadyMs()).toBe(isDue);
    },
  );
});
