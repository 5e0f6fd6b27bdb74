import { nearestName } from '../core/nearest-name.ts';

/** Commander's message about a value that is none of the choices, with the choice that was probably meant. */
export function suggestChoice(message: string): string {
  const [, given = '', listed = ''] = /argument '([^']*)' is invalid\. Allowed choices are (.+)\./.exec(message) ?? [];
  const nearest = given === '' ? undefined : nearestName(given, listed.split(', '));
  return nearest === undefined
    ? message
    : `${message.trimEnd()}\n(Did you mean ${nearest}?)${message.endsWith('\n') ? '\n' : ''}`;
}
