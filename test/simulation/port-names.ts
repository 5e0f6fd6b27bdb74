/** Every port call of a worker. A crash before one and a crash after it are two places. */
const portCalls = [
  'http.read',
  'http.spend',
  'results.draft',
  'results.rename',
  'results.sync',
  'store.intake.acceptBatch',
  'store.operator.actOnEntry',
  'store.buying.accountKeys.prove',
  'store.buying.accountKeys.statesOf',
  'store.adoptKeys',
  'store.buying.closeAttempt',
  'store.results.closeDelivery',
  'store.pauses.end',
  'store.buying.expireOverdue',
  'store.results.failDelivery',
  'store.buying.budget.forgetSlots',
  'store.open',
  'store.buying.openAttempt',
  'store.pauses.open',
  'store.operator.pauseScope',
  'store.pauses.postponeProbe',
  'store.buying.lookups.prove',
  'store.buying.budget.recordBackOff',
  'store.buying.budget.restoreBackOffs',
  'store.buying.budget.restoreSlots',
  'store.operator.resumeScope',
  'store.buying.budget.settleSlot',
  'store.buying.budget.takeSlot',
] as const;

/**
 * Calls that few runs make; only a very long run must crash at all of them.
 * `store.buying.budget.recordBackOff` is rarer still.
 */
const rare =
  /^store\.(operator\.\w+|pauses\.\w+|buying\.accountKeys\.prove|buying\.expireOverdue|results\.failDelivery|buying\.budget\.recordBackOff) /;

/** Every port call of the intake. */
const intakeCalls = [
  'files.create inbox',
  'files.rename work',
  'files.sync work',
  'files.sync inbox',
  'store.intake.files.begin',
  'store.intake.files.finish',
  'store.intake.files.archive',
  'store.intake.files.reject',
  'files.mkdir archive',
  'files.rename archive',
  'files.sync archive',
  'files.create rejected',
  'files.write rejected',
  'files.sync file rejected',
  'files.rename rejected',
  'files.sync rejected',
  'files.unlink work',
  'store.intake.acceptRequests',
  'store.intake.cancelUnsent',
  'store.storefronts.takeOrder',
  'intake.answer',
] as const;

/** Every port call of the sinks, besides the results folder. */
const sinkCalls = [
  'woocommerce.get',
  'woocommerce.put',
  'woocommerce.post',
  'shopify.get',
  'shopify.post',
  'callback.post',
  'store.results.confirmEvents',
  'store.results.pauseSink',
  'store.results.resumeSink',
  'store.results.giveUpDelivery',
] as const;

const placesOf = (names: readonly string[]): readonly string[] =>
  names.flatMap((name) => [`${name} <`, `${name} >`]);

/** Calls that a run with intake makes rarely. */
const rareOfIntake =
  /^(store\.intake\.(files\.reject|cancelUnsent)|files\.(mkdir|unlink|sync file|create|write)) /;

/** Places of a crash, as the trace names them. */
export const crashPlaces: readonly string[] = placesOf(portCalls);
export const intakeCrashPlaces: readonly string[] = placesOf(intakeCalls);

export const sinkCrashPlaces: readonly string[] = placesOf(sinkCalls);

/** The places at which a run of so many seeds must crash. */
export function crashPlacesOf(seeds: number): readonly string[] {
  const common =
    seeds >= 20_000 ? [...crashPlaces, ...intakeCrashPlaces, ...sinkCrashPlaces] : crashPlaces;
  return common.filter(
    (place) =>
      !(rare.test(place) || rareOfIntake.test(place)) ||
      (seeds >= 100_000 && !place.includes('buying.budget.recordBackOff')),
  );
}

export const rareCrashPlaces: readonly string[] = crashPlaces.filter((place) => rare.test(place));

/** Calls that must get every error of SQLite at least once. */
export const storeCallsOfTheLoop = [
  'buying.openAttempt',
  'buying.closeAttempt',
  'results.closeDelivery',
  'intake.acceptBatch',
  'buying.budget.forgetSlots',
] as const;
