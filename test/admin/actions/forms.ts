/** A form of a page: its fields with the values that a browser would send. */
export interface ShownForm {
  readonly title: string;
  readonly fields: Readonly<Record<string, string>>;
}

const unescaped = (text: string): string =>
  text
    .replace(/&quot;/g, '"')
    .replace(/&#39;/g, "'")
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&amp;/g, '&');

/** The forms of a page that decide something. */
export function formsOf(page: string): readonly ShownForm[] {
  return [
    ...page.matchAll(/<form class="stack" method="post" action="\/actions">(.*?)<\/form>/gs),
  ].map(([, form = '']) => {
    const inputs = [...form.matchAll(/<input(?: type="hidden")? name="([^"]+)" value="([^"]*)"/g)];
    const choices = [...form.matchAll(/<select name="([^"]+)"><option value="([^"]*)"/g)];
    const fields = [...inputs, ...choices].map(([, name = '', value = '']) => [
      name,
      unescaped(value),
    ]);
    return {
      title: unescaped(/<button type="submit">([^<]*)</.exec(form)?.[1] ?? ''),
      fields: Object.fromEntries(fields),
    };
  });
}

/** The actions of the forms, each once. */
export const actionsOf = (forms: readonly ShownForm[]): readonly string[] => [
  ...new Set(forms.map(({ fields }) => fields['action'] ?? '')),
];
