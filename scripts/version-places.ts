import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Whatever else names the version reads it from `package.json`. A pattern matches the version alone. */
const places: readonly (readonly [files: string, version: RegExp])[] = [
  ['package.json', /(?<="name": "order-sync",\s+"version": ")[^"]+/g],
  // Of the project, and of its root package.
  ['package-lock.json', /(?<="name": "order-sync",\s+"version": ")[^"]+/g],
  ['docs/*.md', /(?<=\border-sync-)\d[\w.-]*(?=\.tgz)/g],
  ['deploy/kubernetes/*.yaml', /(?<=\/order-sync:)\d[\w.-]*/g],
];

/** A version that is written in a file of the project. */
export interface WrittenVersion {
  readonly file: string;
  readonly version: string;
}

/** Every place where the version is written. */
export function writtenVersions(root: string): WrittenVersion[] {
  return places.flatMap(([files, pattern]) =>
    globSync(files, { cwd: root }).flatMap((file) =>
      [...readFileSync(join(root, file), 'utf8').matchAll(pattern)].map(([version]) => ({
        file,
        version,
      })),
    ),
  );
}

/** Writes the version to each of these places. */
export function writeVersion(root: string, version: string): void {
  for (const [files, pattern] of places) {
    for (const file of globSync(files, { cwd: root })) {
      const path = join(root, file);
      const text = readFileSync(path, 'utf8');
      const changed = text.replaceAll(pattern, version);
      if (changed !== text) writeFileSync(path, changed);
    }
  }
}

/** The changes of a section of CHANGELOG.md, without its heading; null without such a section. */
export function changesOf(changelog: string, section: string): string | null {
  const parts = changelog.split(/^## \[/m);
  const found = parts.find((part) => part.startsWith(`${section}]`));
  return found === undefined ? null : found.slice(found.indexOf('\n')).trim();
}

/**
 * CHANGELOG.md with a dated section of this version. Where it has none yet, the section of what is
 * unreleased becomes it.
 */
export function datedChangelog(changelog: string, version: string, date: string): string {
  const heading = `## [${version}]`;
  const withSection = changelog.includes(`${heading}\n`)
    ? changelog
    : changelog.replace('## [Unreleased]\n', () => `## [Unreleased]\n\n${heading}\n`);
  return withSection.replace(`${heading}\n`, () => `${heading} - ${date}\n`);
}
