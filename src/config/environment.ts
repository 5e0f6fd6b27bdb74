/** The variables of this process. Only this file reads them; everything else is handed what it needs. */
export function processEnvironment(): Readonly<Record<string, string | undefined>> {
  return process.env;
}
