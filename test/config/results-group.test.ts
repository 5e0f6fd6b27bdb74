import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { folderWith, minimal } from './config-file.ts';

const accessOf = (results: string, environment: Record<string, string> = {}) => {
  const cwd = folderWith({ 'c.yaml': `${minimal}\nresults:\n  folder: r\n${results}` });
  return loadConfig({ file: 'c.yaml', environment, cwd }).config.results.access;
};
const mistake = (results: string): string => {
  try {
    accessOf(results);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return 'none';
};

describe('who may read results', () => {
  it('is the user of the worker, unless the configuration names a group', () => {
    expect(accessOf('')).toEqual({ mode: 0o600, gid: null });
    const own = process.getgid?.() ?? 0;
    expect(accessOf(`  group: "${own}"`)).toEqual({ mode: 0o640, gid: own });
    expect(accessOf('', { ORDER_SYNC__RESULTS__GROUP: String(own) })).toEqual({
      mode: 0o640,
      gid: own,
    });
  });

  it('is checked: a group that does not exist', () => {
    expect(mistake('  group: no-such-group')).toContain('results.group');
    expect(mistake('  group: no-such-group')).toContain('is not a group of this machine');
    expect(mistake('  group: "a b"')).toContain('must be the name of a group');
    expect(mistake('  group: 33')).toContain('in quotes');
  });
});
