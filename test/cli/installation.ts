import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { onTestFinished } from 'vitest';
import { runCommandLine } from '../../src/cli/commands/program.ts';
import type { MachineClock } from '../../src/core/clock.ts';

export const projectRoot = resolve(import.meta.dirname, '../..');
export const nowMs = Date.parse('2026-11-21T12:00:00.000Z');

/** A clock that always shows the same time, so the output of a command is always the same. */
const fixedClock: MachineClock = {
  bootId: undefined,
  wallMs: () => nowMs,
  steadyMs: () => 0,
  sleep: () => Promise.resolve(),
};

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Installation {
  readonly folder: string;
  readonly dataDir: string;
  readonly configFile: string;
  /** Runs a command in this process, at a fixed time. */
  readonly run: (...argv: string[]) => Promise<Finished>;
}

export const sandboxConfig = (folder: string): string => `instance: acme
data_dir: ${folder}/data
wholesale:
  environment: sandbox
  base_url: http://127.0.0.1:8090
  keys: [{ name: main, value: sandbox-key-main }]
admin: { listen: 127.0.0.1:0 }
sandbox: { listen: 127.0.0.1:0 }
`;

/** A folder with a config file and nothing else. */
export function installation(text = sandboxConfig): Installation {
  const folder = mkdtempSync(join(tmpdir(), 'order-sync-cli-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const configFile = join(folder, 'order-sync.yaml');
  writeFileSync(configFile, text(folder));
  return {
    folder,
    dataDir: join(folder, 'data'),
    configFile,
    run: (...argv) => runHere([...argv, '--config', configFile]),
  };
}

/** An installation with a fixed reference secret, so its references are always the same. */
export function knownInstallation(): Installation {
  const known = installation();
  mkdirSync(known.dataDir);
  writeFileSync(join(known.dataDir, 'reference.secret'), '07'.repeat(32));
  return known;
}

/** Runs a command line in this process and collects its output. */
export async function runHere(
  argv: readonly string[],
  clock: MachineClock = fixedClock,
): Promise<Finished> {
  let stdout = '';
  let stderr = '';
  const code = await runCommandLine(argv, {
    stdout: { write: (text) => void (stdout += text) },
    stderr: { write: (text) => void (stderr += text) },
    clock,
  });
  return { code, stdout, stderr };
}

/** Runs the program in a new process, as a shell would. */
export function runProgram(
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
  input = '',
): Promise<Finished> {
  return new Promise((done, fail) => {
    const child = spawn(process.execPath, [join(projectRoot, 'bin/order-sync.js'), ...argv], {
      cwd: projectRoot,
      env: { PATH: process.env['PATH'] ?? '', ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    child.stdin.end(input);
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => void (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => void (stderr += text));
    child.on('error', fail);
    child.on('close', (code) => done({ code, stdout, stderr }));
  });
}
