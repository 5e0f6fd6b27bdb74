import { X509Certificate } from 'node:crypto';
import { readFileSync, type Stats, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { codeOf } from '../core/order-sync-error.ts';
import { whoseIs } from '../ops/files.ts';
import type { Origins } from './layers.ts';
import { filePrefix } from '../core/settings/schema-values.ts';
import { schemaTree, type SchemaNode } from './schema-tree.ts';
import { type ConfigPath, type SectionCheck, valueAt } from './section-check.ts';

/**
 * Reads every file of certificates, and every key that the schema marks as a secret. A secret in
 * the config file is a mistake, because config files are copied, committed and shown to people:
 * only a sandbox may have one there.
 * @param areNeeded false for a command that only reads the outbox: no file of a secret is opened
 */
export function readSecrets(
  check: SectionCheck,
  origins: Origins,
  cwd: string,
  areNeeded = true,
): void {
  for (const { path, need } of markedPaths(schemaTree, check.tree, [])) {
    if (need === undefined) {
      readCertificates(check, cwd, path);
      continue;
    }
    const value = check.at(...path);
    const file =
      typeof value === 'string' && value.startsWith(filePrefix)
        ? value.slice(filePrefix.length)
        : null;
    const kind = origins.of(path)?.kind;
    const instead = `use ${filePrefix}PATH, or the variable ORDER_SYNC__${path.join('__').toUpperCase()}`;
    if (file !== null) {
      if (!areNeeded) continue;
      const read = readSecretFile(resolve(cwd, file));
      if ('problem' in read) check.report(path, read.problem);
      else check.secrets.set(path.join('.'), read.secret);
      if ('warning' in read) check.warnings.push(`${path.join('.')}: ${file} ${read.warning}`);
    } else if (value === undefined) {
      if (areNeeded && need === 'required') check.report(path, `is required: ${instead}`);
    } else {
      // Every process of the machine can see the arguments of another, and shells keep them in
      // their history.
      if (kind === 'flag') check.report(path, `is a secret and must not be a flag: ${instead}`);
      if (kind === 'file' && !check.isSandbox)
        check.report(path, `is a secret and must not be in a config file: ${instead}`);
      if (typeof value === 'string' && areNeeded) check.secrets.set(path.join('.'), value);
    }
  }
}

function* markedPaths(
  node: SchemaNode,
  value: unknown,
  path: ConfigPath,
): Generator<{ path: ConfigPath; need: SchemaNode['secret'] }> {
  if (node.secret !== undefined || node.certificates === true) yield { path, need: node.secret };
  else if (value === undefined) return;
  for (const [name, child] of Object.entries(node.properties ?? {}))
    yield* markedPaths(child, valueAt(value, [name]), [...path, name]);
  if (node.items === undefined || !Array.isArray(value)) return;
  for (const [index, entry] of value.entries())
    yield* markedPaths(node.items, entry, [...path, index]);
}

/**
 * A warning of a file that every user may read. With chmod alone, one of root would be closed to the
 * worker, too.
 */
function openToAll({ mode, uid }: Stats): string | null {
  if ((mode & 0o004) === 0) return null;
  const self = process.getuid?.();
  const command = self === uid ? 'chmod 600' : `chown ${self} and then chmod 400`;
  return `can be read by every user of this machine: run ${command} on it`;
}

/**
 * Sentences about files of the worker that hold secrets or delivered codes, and that every user may
 * read.
 */
export function warnOfReadableFiles(files: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(files).flatMap(([what, path]) => {
    try {
      const warning = openToAll(statSync(path));
      return warning === null ? [] : [`${what}: ${path} ${warning}`];
    } catch {
      // There is none yet, or this user may not look: the start says so where it matters.
      return [];
    }
  });
}

type SecretFile =
  | { readonly secret: string; readonly warning?: string }
  | { readonly problem: string };

/**
 * No other problem shows the name of the file: it may be the secret. Editors add one newline, which
 * is dropped.
 */
function readSecretFile(path: string): SecretFile {
  let text: string;
  let warning: string | null;
  try {
    text = readFileSync(path, 'utf8').replace(/\r?\n$/, '');
    warning = openToAll(statSync(path));
  } catch (error) {
    const reason = codeOf(error) ?? String(error);
    // Where access was denied, the name is one of a file and no secret.
    const advice = 'let the user that runs order-sync own this file, and let nobody else read it';
    if (reason === 'EACCES')
      return { problem: `must name a file that can be read, but ${whoseIs(path)}: ${advice}` };
    return { problem: `must name a file that can be read (${reason})` };
  }
  if (text === '') return { problem: 'must name a file that is not empty' };
  if (text.length > 4096 || !/^[\x21-\x7e]+$/.test(text)) {
    return { problem: 'must name a file with one line of printable ASCII without spaces' };
  }
  return { secret: text, ...(warning === null ? {} : { warning }) };
}

const longestFile = 1_048_576;

/** Keeps the certificates of a `ca_file` as PEM, under its own path. */
function readCertificates(check: SectionCheck, cwd: string, path: ConfigPath): void {
  const file = check.at(...path);
  if (typeof file !== 'string' || file === '') return;
  let text: string;
  try {
    text = readFileSync(resolve(cwd, file), 'utf8');
  } catch (error) {
    const code = codeOf(error) ?? String(error);
    check.report(path, `must name a file that can be read, got "${file}" (${code})`);
    return;
  }
  const problem = problemOfCertificates(text);
  if (problem === null) check.secrets.set(path.join('.'), text);
  else check.report(path, `${problem}, got "${file}"`);
}

function problemOfCertificates(text: string): string | null {
  const found = text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  if (found.length === 0 || text.length > longestFile)
    return 'must name a file with certificates in PEM (-----BEGIN CERTIFICATE-----)';
  for (const [index, pem] of found.entries()) {
    try {
      void new X509Certificate(pem);
    } catch {
      // Node would ignore it, and every call would fail.
      return `names a file whose certificate ${index + 1} of ${found.length} is damaged`;
    }
  }
  return null;
}
