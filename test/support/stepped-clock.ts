// Loaded into a worker process before anything else (`node --import`): its wall clock is off by the
// milliseconds that a file holds, and follows the file while the worker runs. The monotonic clock
// stays as it is, as on a real machine.
import { readFileSync } from 'node:fs';

const file = process.env['CLOCK_OFFSET_FILE'];
const realNow = Date.now;

const wallMs = (): number =>
  realNow() + (file === undefined ? 0 : Number(readFileSync(file, 'utf8')));

globalThis.Date = new Proxy(Date, {
  construct: (target, parts: readonly unknown[], newTarget) =>
    // As the real one: without an argument it is now.
    Reflect.construct(target, parts.length === 0 ? [wallMs()] : parts, newTarget),
  get: (target, name): unknown => (name === 'now' ? wallMs : Reflect.get(target, name)),
});
