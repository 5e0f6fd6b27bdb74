import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { nearestName } from '../../core/nearest-name.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import type { CustomerSettings } from '../settings.ts';
import { checkTemplate } from './check-template.ts';
import { isLanguageTag } from './language.ts';
import type { LanguageTemplates, Templates } from './templates.ts';
import { templateFiles, type TemplateFile } from './template-variables.ts';
import { hiddenValues } from './example-orders.ts';

/** The templates that the program brings along. */
const ownFolder = join(import.meta.dirname, 'templates');
const longestTemplate = 65_536;

interface Reading {
  readonly issues: string[];
  readonly files: Map<string, Map<TemplateFile, { readonly path: string; readonly text: string }>>;
}

/**
 * Reads and checks all templates: those of the program, and in their place those of the configured folder, which has a folder
 * for each language.
 * @throws OrderSyncError CONFIG_INVALID with every mistake, each with file, line, name and a suggestion
 */
export function readTemplates({ templates, language }: Pick<CustomerSettings, 'templates' | 'language'>): Templates {
  const reading: Reading = { issues: [], files: new Map() };
  readFolder(ownFolder, reading);
  if (templates !== null) readFolder(templates, reading);
  const complete = new Map<string, LanguageTemplates>();
  for (const name of reading.files.keys()) {
    const found = languageIn(name, templates ?? ownFolder, reading);
    if (found !== null) complete.set(name, found);
  }
  if (reading.issues.length === 0 && !complete.has(language.toLowerCase())) {
    const known = [...complete.keys()];
    const nearest = nearestName(language, known);
    const hint = nearest === undefined ? `expected one of ${known.join(', ')}` : `did you mean "${nearest}"?`;
    reading.issues.push(`results.customer.language ${language} has no templates; ${hint}`);
  }
  if (reading.issues.length === 0) return complete;
  const count = reading.issues.length === 1 ? 'a mistake' : `${reading.issues.length} mistakes`;
  const lines = reading.issues.map((issue) => `  ${issue}`);
  throw new OrderSyncError('CONFIG_INVALID', [`results.customer has ${count}:`, ...lines].join('\n'), {
    hint: 'docs/customer-texts.md describes the templates and their variables',
  });
}

/** Reads `<folder>/<language>/<file>`. What begins with a dot belongs to an editor or to the system. */
function readFolder(folder: string, reading: Reading): void {
  for (const language of namesIn(folder, reading)) {
    const path = join(folder, language);
    const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
    if (!isLanguageTag(language) || !isFolder) {
      reading.issues.push(`${path} is not a folder of a language, for example ${join(folder, 'de')}`);
      continue;
    }
    const files = reading.files.get(language.toLowerCase()) ?? new Map();
    reading.files.set(language.toLowerCase(), files);
    for (const name of namesIn(path, reading)) {
      const file = templateFiles.find((known) => known === name);
      const text =
        file === undefined ? unknownFile(join(path, name), name, reading) : readText(join(path, name), reading);
      if (file !== undefined && text !== null) files.set(file, { path: join(path, name), text });
    }
  }
}

function namesIn(folder: string, { issues }: Reading): readonly string[] {
  try {
    return readdirSync(folder)
      .filter((name) => !name.startsWith('.'))
      .toSorted();
  } catch (error) {
    issues.push(`${folder} cannot be read: ${reasonOf(error)}`);
    return [];
  }
}

function unknownFile(path: string, name: string, { issues }: Reading): null {
  const nearest = nearestName(name, templateFiles);
  const expected = nearest === undefined ? `expected one of ${templateFiles.join(', ')}` : `did you mean "${nearest}"?`;
  issues.push(`${path} is not a known template; ${expected}`);
  return null;
}

function readText(path: string, { issues }: Reading): string | null {
  try {
    const bytes = readFileSync(path);
    if (bytes.length <= longestTemplate) return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    issues.push(`${path} must have at most ${longestTemplate} bytes`);
  } catch (error) {
    issues.push(`${path} cannot be read: ${reasonOf(error)}`);
  }
  return null;
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
  return code === 'ERR_ENCODING_INVALID_ENCODED_DATA' ? 'it is not UTF-8' : code;
}

/** The templates of one language, if all are there and show what a customer needs; null after an issue. */
function languageIn(language: string, folder: string, { files, issues }: Reading): LanguageTemplates | null {
  const found = files.get(language) ?? new Map();
  const before = issues.length;
  const pathOf = (file: TemplateFile): string => found.get(file)?.path ?? join(folder, language, file);
  const textOf = (file: TemplateFile): string => {
    const text = found.get(file)?.text;
    if (text === undefined) {
      issues.push(`${pathOf(file)} is missing: a language of your own needs all of ${templateFiles.join(', ')}`);
      return '';
    }
    for (const issue of checkTemplate(file, text)) issues.push(`${pathOf(file)}:${issue.line} ${issue.problem}`);
    return text;
  };
  const templates: LanguageTemplates = {
    'order.txt': textOf('order.txt'),
    'order.html': textOf('order.html'),
    'gift_card.txt': textOf('gift_card.txt'),
    'gift_card.html': textOf('gift_card.html'),
    'esim.txt': textOf('esim.txt'),
    'esim.html': textOf('esim.html'),
  };
  if (issues.length > before) return null;
  for (const { file, problem } of hiddenValues(language, templates)) issues.push(`${pathOf(file)} ${problem}`);
  return issues.length > before ? null : templates;
}
