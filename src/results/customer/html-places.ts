/** Where in a page an offset is: within the text, a tag, the quotes of an attribute, or a comment. */
export type HtmlPlace = 'text' | 'tag' | 'quoted' | 'comment';

/** No variable is longer; what looks like one is text. */
const longestVariable = 200;

/** The place of each offset of a template in HTML. What is between `{{` and `}}` has the place in which it stands. */
export function htmlPlaces(template: string): readonly HtmlPlace[] {
  const places: HtmlPlace[] = [];
  let place: HtmlPlace = 'text';
  let quote = '';
  for (let at = 0; at < template.length; ) {
    const [variable = ''] = /^\{\{[\s\S]*?\}\}/.exec(template.slice(at, at + longestVariable)) ?? [];
    const character = template[at] ?? '';
    if (variable === '') {
      if (place === 'text' && template.startsWith('<!--', at)) place = 'comment';
      else if (place === 'comment' && template.startsWith('-->', at)) place = 'text';
      else if (place === 'text' && /^<[a-z/!]/i.test(template.slice(at, at + 2))) place = 'tag';
      else if (place === 'tag' && character === '>') place = 'text';
      else if (place === 'tag' && (character === '"' || character === "'")) [place, quote] = ['quoted', character];
      else if (place === 'quoted' && character === quote) place = 'tag';
    }
    const length = Math.max(1, variable.length);
    for (let step = 0; step < length; step += 1) places.push(place);
    at += length;
  }
  return places;
}
