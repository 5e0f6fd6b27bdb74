import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

/** The specifiers a TypeScript source imports or re-exports, static and dynamic. */
export function importsOf(source: string): string[] {
  const found: string[] = [];
  const pattern =
    /(?:^|\n)\s*(?:import|export)\b[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]|(?:^|\n)\s*import\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)/g;
  for (const match of source.matchAll(pattern)) {
    const specifier = match[1] ?? match[2] ?? match[3];
    if (specifier !== undefined) found.push(specifier);
  }
  return found;
}

/** Two folders of one module that import each other. `there` and `back` count the imports. */
export interface FolderPair {
  readonly module: string;
  readonly folders: readonly [string, string];
  readonly there: number;
  readonly back: number;
}

/** Every pair below `folder`, a module's own folder included. Modules are the folders in `src`. */
export function folderPairs(folder: string, src = folder): FolderPair[] {
  const counts = new Map<string, number>();
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => join(relative(src, folder), path));
  for (const path of files) {
    for (const specifier of importsOf(readFileSync(join(src, path), 'utf8'))) {
      const target = relative(src, resolve(src, dirname(path), specifier));
      if (!specifier.startsWith('.') || !target.endsWith('.ts')) continue;
      const between = `${dirname(path)}>${dirname(target)}`;
      counts.set(between, (counts.get(between) ?? 0) + 1);
    }
  }
  return [...counts].flatMap(([between, there]) => {
    const [from = '', to = ''] = between.split('>');
    const [module = ''] = from.split('/');
    const back = counts.get(`${to}>${from}`);
    if (from >= to || back === undefined || to.split('/')[0] !== module) return [];
    return [{ module, folders: [from, to], there, back }];
  });
}
