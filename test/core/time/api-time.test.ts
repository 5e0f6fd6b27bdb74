import { describe, expect, it } from 'vitest';
import { ApiTime, longestUnknownMs } from '../../../src/core/time/wall-clock.ts';

const startMs = Date.UTC(2026, 10, 1);
const minute = 60_000;
const day = 86_400_000;

/** A machine whose clock is ahead of the API's. */
class Machine {
  steadyMs = 1000;
  aheadMs: number;
  readonly api = new ApiTime(1000);

  constructor(aheadMs = 0) {
    this.aheadMs = aheadMs;
  }

  get now() {
    return { wallMs: startMs + this.steadyMs + this.aheadMs, steadyMs: this.steadyMs };
  }

  /** The API answers a call; its clock may differ from the true time by `wrongMs`. */
  answer({ tookMs = 100, wrongMs = 0, dated = true } = {}): void {
    const sentMs = this.steadyMs;
    this.steadyMs += tookMs;
    const shownMs = startMs + sentMs + tookMs / 2 + wrongMs;
    const dateMs = dated ? Math.floor(shownMs / 1000) * 1000 : null;
    this.api.record({ sentMs, receivedMs: this.steadyMs, dateMs }, this.now);
  }

  set(stepMs: number): void {
    this.api.read(this.now);
    this.aheadMs += stepMs;
  }

  get reading() {
    return this.api.read(this.now);
  }

  /** The present, as differences from what the clock of the machine shows. */
  get present() {
    const { earliestMs, latestMs } = this.api.present(this.now);
    return { earliest: earliestMs - this.now.wallMs, latest: latestMs - this.now.wallMs };
  }
}

const exact = { earliest: 0, latest: 0 };

describe("the API's time", () => {
  it('says by how much the clock is wrong, to a second, by the fastest of the answers that agree', () => {
    const machine = new Machine(5 * day);
    for (const tookMs of [9000, 120, 30_000, 4000]) machine.answer({ tookMs });
    expect(machine.reading.verdict).toBe('wrong');
    expect(Math.abs((machine.reading.aheadMs ?? 0) - 5 * day)).toBeLessThanOrEqual(600);
    const late = new Machine(-3 * minute);
    for (let count = 0; count < 3; count += 1) late.answer();
    expect(Math.abs((late.reading.aheadMs ?? 0) + 3 * minute)).toBeLessThanOrEqual(600);
  });

  it('believes one answer that confirms the clock, and three that agree that it is wrong', () => {
    const right = new Machine(20_000);
    right.answer();
    expect(right.reading.verdict).toBe('right');
    const wrong = new Machine(2 * minute);
    wrong.answer();
    wrong.answer();
    expect(wrong.reading.verdict).toBe('unknown');
    wrong.answer();
    expect(wrong.reading.verdict).toBe('wrong');
  });

  it('is not moved by a proxy whose answers have another date, as long as these are a minority', () => {
    const machine = new Machine();
    for (let count = 0; count < 8; count += 1) machine.answer();
    for (let count = 0; count < 40; count += 1) {
      machine.answer(count % 3 === 0 ? { wrongMs: 90 * day, tookMs: 1 } : {});
      expect(machine.reading.verdict).toBe('right');
    }
  });

  it('leaves a gap between earliest and latest while the clock is wrong', () => {
    const machine = new Machine(5 * day);
    for (let count = 0; count < 3; count += 1) machine.answer();
    expect(machine.present.latest).toBe(0);
    expect(Math.round(machine.present.earliest / 1000)).toBe((-5 * day) / 1000);
    const behind = new Machine(-5 * day);
    for (let count = 0; count < 3; count += 1) behind.answer();
    expect(behind.present.earliest).toBe(0);
    expect(Math.round(behind.present.latest / 1000)).toBe((5 * day) / 1000);
  });

  it('stays known over a step back, and the step shows at once', () => {
    const machine = new Machine();
    for (let count = 0; count < 3; count += 1) machine.answer();
    expect(machine.present).toEqual(exact);
    machine.set(-5 * day);
    expect(machine.reading.verdict).toBe('wrong');
    machine.set(5 * day - 1000);
    expect(machine.present.latest).toBe(0);
    for (let count = 0; count < 3; count += 1) machine.answer();
    expect(machine.present).toEqual(exact);
  });

  it('is asked for again after a step forward, which may have been sleep; until then nothing is sure', () => {
    const set = new Machine();
    set.answer();
    set.set(5 * day);
    expect(Math.round(set.present.earliest / 1000)).toBe((-5 * day) / 1000);
    expect(set.present.latest).toBe(0);
    for (let count = 0; count < 3; count += 1) set.answer();
    expect(set.reading.verdict).toBe('wrong');

    const asleep = new Machine();
    asleep.answer();
    asleep.aheadMs += 5 * day;
    // The API's clock ran on while the machine slept.
    asleep.answer({ wrongMs: 5 * day });
    expect(asleep.reading.verdict).toBe('right');
    expect(asleep.present).toEqual(exact);
  });

  it('does not remember a step that was undone before an answer came', () => {
    const machine = new Machine();
    machine.steadyMs += longestUnknownMs;
    machine.set(5 * day);
    machine.set(-5 * day);
    expect(machine.present).toEqual(exact);
  });

  it('is waited for after the start, but not for ever', () => {
    const machine = new Machine();
    expect(machine.present).toEqual({ earliest: Number.NEGATIVE_INFINITY, latest: 0 });
    machine.steadyMs += longestUnknownMs;
    expect(machine.present).toEqual(exact);
  });

  it('is not waited for when the answers of the API have no date', () => {
    const machine = new Machine();
    for (let count = 0; count < 3; count += 1) machine.answer({ dated: false });
    expect(machine.present).toEqual(exact);
  });
});
