import type { Database } from 'better-sqlite3';
import type { ResultEntry } from '../../src/core/result/result-document.ts';
import { unitText } from './api-answers.ts';
import type { World } from './world.ts';

/** The number and the units of an entry: of one that needs review because of them, as they were sold. */
function namesOf(
  { order_number: number, state, units, error, reference }: ResultEntry,
  world: World,
): readonly string[] {
  const isShared = state === 'needs_review' && error?.message.includes('also belongs to') === true;
  const sold = isShared ? (world.api.ledger.find(reference)?.units ?? []) : [];
  return [...(number === null ? [] : [number]), ...units.map(unitText), ...sold];
}

/**
 * The same unit is never delivered to two customers in silence: of entries that show one order
 * number, code or eSIM at most one is delivered, and it stands in the attention list. An outbox
 * that was lost, or is an older copy, does not know all.
 */
export function checkSharedUnits(world: World, database: Database): void {
  if (world.plan.lostDiskAtMs !== null || world.plan.copyAtMs !== null) return;
  const rows = database
    .prepare<[], { kind: string; reference: string }>(
      "SELECT kind, reference FROM outbox_attention WHERE kind IN ('shown_twice', 'uncounted_cost')",
    )
    .all();
  const flaggedAs = (wanted: string): ReadonlySet<string> =>
    new Set(rows.filter(({ kind }) => kind === wanted).map(({ reference }) => reference));
  const [flagged, uncounted] = [flaggedAs('shown_twice'), flaggedAs('uncounted_cost')];
  const entries = world.acknowledged.all.flatMap(({ line }) => {
    const shown = world.results
      .read(line.source, line.orderId)
      ?.lines.find((it) => it.line_id === line.lineId);
    return line.operation === 'gift_card_order' || line.operation === 'esim_order'
      ? (shown?.entries ?? [])
      : [];
  });
  const showing = new Map<string, ResultEntry[]>();
  for (const entry of entries) {
    if (!['fulfilled', 'needs_review'].includes(entry.state)) continue;
    for (const name of new Set(namesOf(entry, world)))
      showing.set(name, [...(showing.get(name) ?? []), entry]);
    // What an operator found has no answer that shows a cost.
    const { costShown, strangeCosts } = world.plan.readings;
    const isStrange =
      costShown && strangeCosts === true && !world.operator.touched.has(entry.reference);
    if (isStrange && entry.state === 'fulfilled' && !uncounted.has(entry.reference))
      world.violate('I16', `${entry.reference} has a cost that is in no sum, and nobody hears`);
  }
  for (const [name, all] of showing) {
    const delivered = all
      .filter(({ state }) => state === 'fulfilled')
      .map(({ reference }) => reference);
    if (all.length < 2) continue;
    world.coverage.hit('shown twice');
    if (delivered.length > 1)
      world.violate('I5', `${name} was delivered to ${delivered.join(' and ')}`);
    for (const reference of delivered)
      if (!flagged.has(reference) && !world.operator.touched.has(reference))
        world.violate('I5', `${name} of ${reference} is shown for others, and nobody hears`);
  }
}
