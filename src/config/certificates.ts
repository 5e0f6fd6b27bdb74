import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { codeOf } from '../core/order-sync-error.ts';
import type { ConfigPath, SectionCheck } from './section-check.ts';

const longestFile = 1_048_576;

/** Keeps the certificates of a `ca_file` as PEM, under its own path. */
export function readCertificates(check: SectionCheck, cwd: string, path: ConfigPath): void {
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
