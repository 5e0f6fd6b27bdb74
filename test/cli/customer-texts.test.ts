import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { installation, runProgram, sandboxConfig } from './installation.ts';

/** An installation whose template of gift cards is this text. */
function withTemplate(text: string) {
  const made = installation(
    (folder) => `${sandboxConfig(folder)}results: { customer: { templates: ${folder}/texts } }\n`,
  );
  mkdirSync(join(made.folder, 'texts'), { recursive: true });
  writeFileSync(join(made.folder, 'texts/gift_card.txt'), text);
  return made;
}

describe('a template with a mistake', () => {
  it('is reported by check-config with file, line, name and a suggestion', async () => {
    const made = withTemplate('{{code}}\n{{pni}}\n{{url}}\n');
    const { code, stderr } = await made.run('check-config');
    expect(code).toBe(3);
    const place = join(made.folder, 'texts/gift_card.txt:2');
    expect(stderr).toContain(`${place} {{pni}} is not a known variable; did you mean "pin"?`);
    expect(stderr).toContain('docs/customer-texts.md');
  });

  it('prevents the start of the worker', async () => {
    const made = withTemplate('{{code}}\n{{#pin}}\n{{url}}\n');
    expect((await made.run('init')).code).toBe(0);
    const { code, stderr } = await runProgram(['run', '--config', made.configFile]);
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining('unclosed section "pin"') });
  });

  it('is none when it shows everything', async () => {
    const { code, stdout } = await withTemplate('{{code}}{{pin}}{{url}}\n').run('check-config');
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('is valid') });
  });
});
