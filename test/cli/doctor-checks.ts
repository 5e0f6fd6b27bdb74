import { onTestFinished } from 'vitest';
import { SystemClock } from '../../src/ops/system-clock.ts';
import { FakeApi } from '../support/fake-api.ts';
import { Installation, type InstallationOptions } from '../support/worker-process.ts';
import { runHere } from './installation.ts';

interface Checked {
  readonly check: string;
  readonly status: string;
  readonly message: string;
  readonly next: string | null;
}

export async function installed(options: InstallationOptions = {}): Promise<Installation> {
  const place = await Installation.open(options);
  onTestFinished(() => place.close());
  await cli(place, 'init');
  return place;
}

export const cli = (place: Installation, ...argv: string[]) =>
  runHere([...argv, '--config', place.configFile], new SystemClock());

export async function doctor(
  place: Installation,
): Promise<{ code: number | null; healthy: boolean; of: (check: string) => Checked }> {
  const { code, stdout } = await cli(place, 'doctor', '--json');
  const { healthy, checks }: { healthy: boolean; checks: Checked[] } = JSON.parse(stdout);
  const of = (name: string): Checked => {
    const found = checks.find(({ check }) => check === name);
    if (found === undefined) throw new Error(`no check ${name} in ${stdout}`);
    return found;
  };
  return { code, healthy, of };
}

export async function apiFor(
  options: InstallationOptions = {},
): Promise<{ api: FakeApi; place: Installation }> {
  const api = await FakeApi.open();
  return { api, place: await installed({ ...options, api: api.url }) };
}
