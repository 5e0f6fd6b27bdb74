import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import mustache from 'mustache';
import { messageOf } from '../../core/message-text.ts';
import { nearestName } from '../../core/nearest-name.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import {
  formatOf,
  kindOf,
  kinds,
  scopes,
  type ScopeName,
  templateFiles,
  type TemplateFile,
  type Templates,
} from './template-variables.ts';

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
    if (text !== null) issues.push(...checkTemplate(file, text).map((issue) => `${path}:${issue}`));
    return text ?? '';
  };
  const templates = new Map(templateFiles.map((file) => [file, read(file)]));
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
      const hint = expected(nearestName(name, templateFiles), templateFiles);
      issues.push(`${join(folder, name)} is not a known template; ${hint}`);
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

/** A token of mustache: kind, name, start, end, and of a section the tokens in it. */
type Token = readonly [kind: string, name: string, start: number, end: number, within?: unknown];

interface Checked {
  readonly file: TemplateFile;
  /** Where a tag or a comment of HTML begins and ends. */
  readonly tags: readonly { readonly index: number; readonly 0: string }[];
  /** The names that are used, an included file with `> ` before it. */
  readonly used: Set<string>;
  readonly report: (offset: number, problem: string) => void;
}

/** Every mistake in a template, with its line: an unreadable tag, an unknown name, a variable in a wrong place. */
function checkTemplate(file: TemplateFile, template: string): readonly string[] {
  const issues: string[] = [];
  const report = (offset: number, problem: string): void => {
    issues.push(`${template.slice(0, offset).split('\n').length} ${problem}`);
  };
  const html = formatOf(file) === 'html' ? template : '';
  for (const { index, 1: element } of html.matchAll(/<(script|style)\b/gi)) {
    report(index, `has <${element}>: mail programs remove it; use the attribute style`);
  }
  const tags = [...html.matchAll(/<!--[^]*?(?:-->|$)|<[a-z/!](?:"[^"]*(?:"|$)|'[^']*(?:'|$)|[^"'>])*>?/gi)];
  const used = new Set<string>();
  try {
    const tokens: unknown[] = mustache.parse(template);
    checkTokens(tokens, kinds[kindOf(file)].scopes, { file, tags, used, report });
  } catch (error) {
    const message = messageOf(error);
    const [, what = message, offset = '0'] = /^(.*) at (\d+)$/.exec(message) ?? [];
    report(Number(offset), `is not a valid template: ${what.charAt(0).toLowerCase()}${what.slice(1)}`);
    return issues;
  }
  for (const name of kinds[kindOf(file)].needs) {
    if (!used.has(name)) report(0, `has no {{${name}}}: a customer would not see what was paid for`);
  }
  return issues;
}

function checkTokens(tokens: readonly unknown[], around: readonly ScopeName[], checked: Checked): void {
  for (const token of tokens) {
    if (!isToken(token) || token[0] === 'text' || token[0] === '!') continue;
    const [kind, name, start, , within] = token;
    checked.used.add(kind === '>' ? `> ${name}` : name);
    if (kind === '#' || kind === '^') {
      const use = useOf(name, around);
      if (use === undefined) checked.report(start, unknownName(name, around));
      const inner = use === 'list' && kind === '#' && isScope(name) ? [...around, name] : around;
      checkTokens(Array.isArray(within) ? within : [], inner, checked);
    } else if (kind === '>') checkInclusion(name, start, around, checked);
    else if (kind === 'name') checkVariable(token, around, checked);
    else if (kind === '&') checked.report(start, `{{{${name}}}} must not be written without escaping: use {{${name}}}`);
    else checked.report(start, 'changes the signs {{ and }}, which is not supported');
  }
}

function checkInclusion(name: string, start: number, around: readonly ScopeName[], { file, report }: Checked): void {
  const units = ['gift_card', 'esim'];
  if (kindOf(file) !== 'order') report(start, `{{> ${name}}} includes another file: only order.txt and order.html may`);
  else if (!units.includes(name)) {
    report(start, `{{> ${name}}} is not the file of a unit; ${expected(nearestName(name, units), units)}`);
  } else if (around.at(-1) !== `${name}s`) report(start, `{{> ${name}}} must be within {{#${name}s}}…{{/${name}s}}`);
}

function checkVariable([, name, start, end]: Token, around: readonly ScopeName[], checked: Checked): void {
  const { file, tags, report } = checked;
  const use = useOf(name, around);
  if (use === undefined) return report(start, unknownName(name, around));
  if (use === 'list') return report(start, `{{${name}}} is a list: use {{#${name}}}…{{/${name}}}`);
  const isHtml = formatOf(file) === 'html';
  if (use === 'condition' || (use === 'picture' && !isHtml)) {
    return report(start, `{{${name}}} is only a condition: use {{#${name}}}…{{/${name}}}`);
  }
  const tag = tags.find(({ index, 0: text }) => index < start && start < index + text.length);
  if (use === 'link' || use === 'picture') {
    const whole = `${use === 'link' ? 'href' : 'src'}="{{${name}}}"`;
    const isWhole = tag?.[0].slice(0, end - tag.index + 1).endsWith(` ${whole}`) === true;
    if (isHtml && !isWhole) report(start, `{{${name}}} is an address: it must be the whole of ${whole}`);
  } else if (tag !== undefined) {
    report(start, `{{${name}}} must be in the text of the page, not in a tag or a comment`);
  }
}

const isScope = (name: string): name is ScopeName => Object.hasOwn(scopes, name);

/** How a variable of these sections may be used. The innermost one counts, as in mustache. */
function useOf(name: string, around: readonly ScopeName[]) {
  const scope = around.findLast((each) => Object.hasOwn(scopes[each], name));
  return scope === undefined ? undefined : scopes[scope][name]?.[0];
}

function unknownName(name: string, around: readonly ScopeName[]): string {
  const known = around.flatMap((scope) => Object.keys(scopes[scope]));
  const isElsewhere = Object.values(scopes).some((scope) => Object.hasOwn(scope, name));
  if (isElsewhere) return `{{${name}}} is not known here; ${expected(undefined, known)}`;
  return `{{${name}}} is not a known variable; ${expected(nearestName(name, known), known)}`;
}

function expected(nearest: string | undefined, known: readonly string[]): string {
  return nearest === undefined ? `expected one of ${[...new Set(known)].join(', ')}` : `did you mean "${nearest}"?`;
}

function isToken(value: unknown): value is Token {
  return Array.isArray(value) && typeof value[0] === 'string' && typeof value[1] === 'string';
}
