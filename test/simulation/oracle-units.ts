import type { Database } from 'better-sqlite3';
import type { ResultEntry } from '../../src/core/result/result-document.ts';
import type { World } from './world.ts';

const namesOf = ({ order_number: number, units }: ResultEntry): readonly string[] =>
  [number, ...units.map((unit) => unit.code ?? unit.iccid)].flatMap((name) => name ?? []);

/**
 * The same unit is never delivered to two customers in silence: of entries that show one order
 * number, code or eSIM at most one is delivered, and it stands in the attention list. An outbox
 * that was lost, or is an older copy, does not know all.
 */
export function checkSharedUnits(world: World, database: Database): void {
  if (world.plan.lostDiskAtMs !== null || world.plan.copyAtMs !== null) return;
  const sql = "SELECT reference FROM outbox_attention WHERE kind = 'shown_twice'";
  const flagged = new Set(database.prepare<[], string>(sql).pluck().all());
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
    if (
      world.operator.touched.has(entry.reference) ||
      !['fulfilled', 'needs_review'].includes(entry.state)
    )
      continue;
    for (const name of new Set(namesOf(entry)))
      showing.set(name, [...(showing.get(name) ?? []), entry]);
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
      if (!flagged.has(reference))
        world.violate('I5', `${name} of ${reference} is shown for others, and nobody hears`);
  }
}
