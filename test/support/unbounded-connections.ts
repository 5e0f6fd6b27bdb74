import { ConnectionGuard } from '../../src/ops/connection-guard.ts';
import { SystemClock } from '../../src/ops/system-clock.ts';

/** For tests of something else: more connections than a test opens. */
export function unboundedConnections(): ConnectionGuard {
  const limits = { connections: 1000, connectionsPerAddress: 1000, answerMs: 600_000 };
  return new ConnectionGuard(limits, new SystemClock(), () => undefined);
}
