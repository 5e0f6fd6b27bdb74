import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { nearestName } from '../../core/nearest-name.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { checkTemplate } from './check-template.ts';
import { templateFiles, type TemplateFile, type Templates } from './template-variables.ts';

/** The templates that the program brings along. */
const ownFolder = join(import.meta.dirname, 'templates');
const longestTemplate = 65_536;

/**
 * Reads and checks the templates: those of the program, and in their place those of a configured folder.
 * @throws OrderSyncError CONFIG_INVALID with every mistake, each with file, line, name and a suggestion
 */
export function readTemplates(folder: string | null): Templates {
  const issues: string[] = [];
  const changed = folder === null ? new Set<string>() : templatesIn(folder, issues);
  const read = (file: TemplateFile): string => {
    const path = join(changed.has(file) && folder !== null ? folder : ownFolder, file);
    const text = readText(path, issues);
    if (text !== null)
      for (const { line, problem } of checkTemplate(file, text)) issues.push(`${path}:${line} ${problem}`);
    return text ?? '';
  };
  const templates: Templates = {
    'order.txt': read('order.txt'),
    'order.html': read('order.html'),
    'gift_card.txt': read('gift_card.txt'),
    'gift_card.html': read('gift_card.html'),
    'esim.txt': read('esim.txt'),
    'esim.html': read('esim.html'),
  };
  if (issues.length === 0) return templates;
  const count = issues.length === 1 ? 'a mistake' : `${issues.length} mistakes`;
  const lines = issues.map((issue) => `  ${issue}`);
  throw new OrderSyncError('CONFIG_INVALID', [`results.customer has ${count}:`, ...lines].join('\n'), {
    hint: 'docs/customer-texts.md describes the templates and their variables',
  });
}

/** The names of the templates in a folder. Names that begin with a dot belong to an editor or to the system. */
function templatesIn(folder: string, issues: string[]): ReadonlySet<string> {
  try {
    const names = readdirSync(folder).filter((name) => !name.startsWith('.'));
    for (const name of names.filter((each) => !templateFiles.some((file) => file === each))) {
      const nearest = nearestName(name, templateFiles);
      const expected =
        nearest === undefined ? `expected one of ${templateFiles.join(', ')}` : `did you mean "${nearest}"?`;
      issues.push(`${join(folder, name)} is not a known template; ${expected}`);
    }
    return new Set(names);
  } catch (error) {
    issues.push(`${folder} cannot be read: ${reasonOf(error)}`);
    return new Set();
  }
}

function readText(path: string, issues: string[]): string | null {
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
