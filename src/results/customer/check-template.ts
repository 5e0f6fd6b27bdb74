import mustache from 'mustache';
import { nearestName } from '../../core/nearest-name.ts';
import { htmlPlaces } from './html-places.ts';
import { formatOf, unitFiles, scopes, scopesOf, type ScopeName, type TemplateFile } from './template-variables.ts';

/** One mistake in a template. */
export interface TemplateIssue {
  /** From 1. */
  readonly line: number;
  readonly problem: string;
}

/** A token of mustache: kind, name, start, end, and of a section the tokens in it. */
type Token = readonly [kind: string, name: string, start: number, end: number, within?: unknown];

interface Checked {
  readonly file: TemplateFile;
  readonly template: string;
  readonly places: ReturnType<typeof htmlPlaces>;
  readonly report: (offset: number, problem: string) => void;
}

/** Every mistake in a template: a tag that mustache cannot read, a name that is not known, a variable in a wrong place. */
export function checkTemplate(file: TemplateFile, template: string): readonly TemplateIssue[] {
  const issues: TemplateIssue[] = [];
  const report = (offset: number, problem: string): void => {
    issues.push({ line: template.slice(0, offset).split('\n').length, problem });
  };
  if (formatOf(file) === 'html') {
    for (const { index, 1: element } of template.matchAll(/<(script|style)\b/gi)) {
      report(index, `has <${element}>: mail programs remove it; use the attribute style`);
    }
  }
  const places = formatOf(file) === 'html' ? htmlPlaces(template) : [];
  try {
    const tokens: unknown[] = mustache.parse(template);
    checkTokens(tokens, scopesOf(file), { file, template, places, report });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const [, what = message, offset = '0'] = /^(.*) at (\d+)$/.exec(message) ?? [];
    report(Number(offset), `is not a valid template: ${what.charAt(0).toLowerCase()}${what.slice(1)}`);
  }
  return issues;
}

function checkTokens(tokens: readonly unknown[], around: readonly ScopeName[], checked: Checked): void {
  for (const token of tokens) {
    if (!isToken(token) || token[0] === 'text' || token[0] === '!') continue;
    const [kind, name, start, , within] = token;
    if (kind === '#' || kind === '^') checkSection(token, Array.isArray(within) ? within : [], around, checked);
    else if (kind === '>') checkInclusion(name, start, around, checked);
    else if (kind === 'name') checkVariable(token, around, checked);
    else if (kind === '&') checked.report(start, `{{{${name}}}} must not be written without escaping: use {{${name}}}`);
    else checked.report(start, 'changes the signs {{ and }}, which is not supported');
  }
}

function checkSection(
  [kind, name, start]: Token,
  within: readonly unknown[],
  around: readonly ScopeName[],
  checked: Checked,
): void {
  const list = listOf(name, around);
  if (list === undefined && useOf(name, around) === undefined) checked.report(start, unknownName(name, around));
  checkTokens(within, list !== undefined && kind === '#' ? [...around, list] : around, checked);
}

function checkInclusion(name: string, start: number, around: readonly ScopeName[], { file, report }: Checked): void {
  const known = around.flatMap((scope) => unitFiles[scope] ?? []);
  if (file.startsWith('order') && known.includes(name)) return;
  const all = Object.values(unitFiles);
  const nearest = nearestName(name, all);
  if (!file.startsWith('order'))
    report(start, `{{> ${name}}} includes another file: only order.txt and order.html may`);
  else if (all.includes(name)) report(start, `{{> ${name}}} must be within {{#${name}s}}…{{/${name}s}}`);
  else report(start, `{{> ${name}}} is not the file of a unit; ${expected(nearest, all)}`);
}

function checkVariable([, name, start, end]: Token, around: readonly ScopeName[], checked: Checked): void {
  const { file, template, places, report } = checked;
  const use = useOf(name, around);
  if (use === undefined) {
    const isList = listOf(name, around) !== undefined;
    report(start, isList ? `{{${name}}} is a list: use {{#${name}}}…{{/${name}}}` : unknownName(name, around));
    return;
  }
  const isHtml = formatOf(file) === 'html';
  if (use === 'condition' || (use === 'picture' && !isHtml)) {
    report(start, `{{${name}}} is only a condition: use {{#${name}}}…{{/${name}}}`);
  } else if (isHtml && (use === 'link' || use === 'picture')) {
    const attribute = use === 'link' ? 'href' : 'src';
    const isWhole = template.slice(0, start).endsWith(` ${attribute}="`) && template[end] === '"';
    if (!isWhole || places[start] !== 'quoted') {
      report(start, `{{${name}}} is an address: it must be the whole of ${attribute}="{{${name}}}"`);
    }
  } else if (isHtml && places[start] !== 'text') {
    report(start, `{{${name}}} must be in the text of the page, not in a tag or a comment`);
  }
}

/** The scope within a list of these sections; undefined when the name is no list of theirs. */
function listOf(name: string, around: readonly ScopeName[]): ScopeName | undefined {
  const scope = around.find((each) => Object.hasOwn(scopes[each].lists, name));
  return scope === undefined ? undefined : scopes[scope].lists[name];
}

/** How a variable of these sections may be used. The innermost one counts, as in mustache. */
function useOf(name: string, around: readonly ScopeName[]) {
  const scope = around.findLast((each) => Object.hasOwn(scopes[each].variables, name));
  return scope === undefined ? undefined : scopes[scope].variables[name]?.use;
}

function unknownName(name: string, around: readonly ScopeName[]): string {
  const known = around.flatMap((scope) => [
    ...Object.keys(scopes[scope].variables),
    ...Object.keys(scopes[scope].lists),
  ]);
  const elsewhere = Object.values(scopes).some(
    (scope) => Object.hasOwn(scope.variables, name) || Object.hasOwn(scope.lists, name),
  );
  if (elsewhere) return `{{${name}}} is not known here; ${expected(undefined, known)}`;
  return `{{${name}}} is not a known variable; ${expected(nearestName(name, known), known)}`;
}

function expected(nearest: string | undefined, known: readonly string[]): string {
  return nearest === undefined ? `expected one of ${[...new Set(known)].join(', ')}` : `did you mean "${nearest}"?`;
}

function isToken(value: unknown): value is Token {
  return Array.isArray(value) && typeof value[0] === 'string' && typeof value[1] === 'string';
}
