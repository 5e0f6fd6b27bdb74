/** Every call to the world that a worker makes here. To die before one and after it are two different places. */
const portCalls = [
  'http.read',
  'http.spend',
  'results.draft',
  'results.rename',
  'results.sync',
  'store.acceptBatch',
  'store.actOnEntry',
  'store.beginIncarnation',
  'store.closeAttempt',
  'store.closeDelivery',
  'store.endPause',
  'store.expireOverdue',
  'store.failDelivery',
  'store.forgetSlots',
  'store.open',
  'store.openAttempt',
  'store.openPause',
  'store.pauseScope',
  'store.postponeProbe',
  'store.proveLookup',
  'store.recordBackOff',
  'store.restartSettlementDelays',
  'store.restoreBackOffs',
  'store.restoreSlots',
  'store.resumeScope',
  'store.settleSlot',
  'store.takeSlot',
] as const;

/** Calls that few runs make: only a very long run must have died at all of them. `store.recordBackOff` is rarer still. */
const rare =
  /^store\.(actOnEntry|endPause|expireOverdue|failDelivery|openPause|pauseScope|postponeProbe|recordBackOff|resumeScope) /;

/** Places to die at, as the trace names them. */
export const crashPlaces: readonly string[] = portCalls.flatMap((name) => [`${name} <`, `${name} >`]);

/** Those that a run of so many seeds must have died at. */
export function crashPlacesOf(seeds: number): readonly string[] {
  return crashPlaces.filter((place) => !rare.test(place) || (seeds >= 100_000 && !place.includes('recordBackOff')));
}

export const rareCrashPlaces: readonly string[] = crashPlaces.filter((place) => rare.test(place));

/** Where every error of SQLite must have come at least once. */
export const storeCallsOfTheLoop = [
  'openAttempt',
  'closeAttempt',
  'closeDelivery',
  'acceptBatch',
  'forgetSlots',
] as const;
