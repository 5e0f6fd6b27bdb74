import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { installation, sandboxConfig } from './installation.ts';

describe('order-sync wire', () => {
  it('prints the mapping in use as a config section, which it can read again', async () => {
    const first = await installation().run('wire');
    expect(first.code).toBe(0);
    const { wholesale } = parse(first.stdout);
    const copied = installation((folder) =>
      sandboxConfig(folder).replace('wholesale:', `wholesale:\n  wire: ${JSON.stringify(wholesale.wire)}`),
    );
    expect(await copied.run('wire')).toEqual(first);
    const json = await copied.run('wire', '--json');
    expect(JSON.parse(json.stdout)).toEqual(wholesale.wire);
  });

  it('ends with 3 for an invalid mapping', async () => {
    expect((await installation().run('wire', '--set', 'wholesale.wire.nonsense=1')).code).toBe(3);
  });
});
