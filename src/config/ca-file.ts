import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { ConfigIssue } from './config-issue.ts';
import { valueAt, type Origins } from './layers.ts';

const path = ['wholesale', 'ca_file'];
const longestFile = 1_048_576;

/** The certificates of `wholesale.ca_file` as PEM; null when it is not set or when there is an issue. */
export function readCaFile(
  tree: unknown,
  origins: Origins,
  cwd: string,
): { readonly ca: string | null; readonly issues: readonly ConfigIssue[] } {
  const file = valueAt(tree, path);
  if (typeof file !== 'string' || file === '') return { ca: null, issues: [] };
  const issue = (problem: string) => ({ ca: null, issues: [origins.issueAt(path, problem)] });
  let text: string;
  try {
    text = readFileSync(resolve(cwd, file), 'utf8');
  } catch (error) {
    return issue(`must name a file that can be read, got "${file}" (${codeOf(error)})`);
  }
  const found = text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  if (found.length === 0 || text.length > longestFile) {
    return issue(`must name a file with certificates in PEM (-----BEGIN CERTIFICATE-----), got "${file}"`);
  }
  for (const [index, pem] of found.entries()) {
    try {
      // Node would ignore a damaged one, and every call would fail.
      void new X509Certificate(pem);
    } catch {
      return issue(`names a file whose certificate ${index + 1} of ${found.length} is damaged, got "${file}"`);
    }
  }
  return { ca: text, issues: [] };
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
