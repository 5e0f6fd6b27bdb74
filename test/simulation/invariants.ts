/**
 * What must hold in every run. The oracle compares the API's ledger, the bytes on the wire and what receivers got; it does not
 * ask the worker. docs/reliability.md has this list, generated.
 */
export const invariants = {
  I0: 'the worker never stops by itself, unless its outbox failed; then it must',
  I1: 'a line is bought at most once, in parts at most its quantity, and no order is bought that nobody asked for',
  I2: 'the open attempt and its exact bytes are committed before the first byte leaves; a full disk sends nothing',
  I3: 'one reference has one body and one path, and is the acknowledged one',
  I4: 'a rejected, expired or cancelled line was not sold; nothing is sent after its deadline',
  I5: 'a fulfilled order was sold with these units, this cost and this quantity',
  I6: 'a cancel is confirmed only if the eSIM is cancelled, and rejected only if it is not',
  I7: 'everything is settled, and a person is asked only where the decision table says so',
  I8: 'every acknowledged line has a result, and a result that is written again has the same bytes',
  I11: 'no window of 60 s has more calls or orders of a key than its limit, as they arrive',
  I12: 'after a denial of the account or a key, no money is sent before a probe was accepted',
  I13: 'no more outcomes are unknown or under way than `submit.concurrency`',
  I15: 'states change only by allowed transitions, and SQLite finds the file intact',
  I16: 'the results show the amounts that the API took',
  I18: 'no key and no delivered code is in the log',
  I19: 'a stop takes at most 9 s, with files on a slow disk 13 s',
  I20: 'nothing is sent while another call for the same reference or eSIM is in flight',
  I21: 'nothing is sent that a person holds or whose scope a person paused',
  I22: 'a healthy line is bought in time, whatever else is sick',
  I23: 'a pause ends when its cause has ended, by itself or by one order of its scope',
  I24: 'a line that was sent is in the outbox, or its sender is told that it is not; forged input is refused',
  I25: 'a repeat changes nothing, a change is a conflict, and the outbox has only lines that somebody sent',
  I26: 'a line that a shop cancels or refunds before its purchase is not bought',
  I31: 'a product with two unknown outcomes gets no further call; an unproven one has at most two unsettled',
  I32: 'until an order of a family was delivered, two of them are open',
  I33: 'a product that showed another one is not ordered again for four minutes',
  I34: 'at most 24 probes are made within a minute',
  I35: 'the account is paused as unreachable only after three entries without an answer, or one that never leaves',
  I36: 'a call that was open when the worker died is recorded as one that may have left',
  I37: 'in a paused scope one order is under way, and only as a trial that is due',
  I38: 'a scope is paused only if enough entries show it, a family only if two products do',
  I39: 'an order that trusted lookups do not find is not sent a fourth time with an unknown outcome',
  I40: 'while an order is due, lookups have at most a third of the calls',
  I41: "a shop's order has each note, fulfilment and mail once, and nothing of another order",
  I42: 'its status and tags are right, and its codes stand in it before it is completed',
  I43: 'an event keeps its id and content, and no older version of a result follows a newer one',
  I44: 'shops and endpoints got what the result says',
  I45: 'a receiver that asked to wait gets no call until then',
  I46: 'a receiver that is back gets its results in time, and only refused ones are given up',
  I47: 'a delivery that was given up stands in attention, and no sink stays paused',
} as const;

/** The name of an invariant, as a violation reports it. */
export type Invariant = keyof typeof invariants;
