const extension = /\.[A-Za-z0-9]{1,8}$/;

/** A short ASCII name with the same extension; the sender's name may be any 255 bytes. */
export function safeFileName(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9._-]+/g, '_').replace(/^\.+/, '_');
  if (plain.length <= 80) return plain === '' ? '_' : plain;
  const ending = extension.exec(plain)?.[0] ?? '';
  return plain.slice(0, 80 - ending.length) + ending;
}

/** The name of a rejected file. It keeps its extension and sorts next to its error report. */
export function rejectedNameOf(id: string, name: string): string {
  const safe = safeFileName(name);
  return `${safe}.${id}${extension.exec(safe)?.[0] ?? ''}`;
}

/** The id of the order file by the name of its CSV result; null: it is no such name. */
export function fileIdOfCsvResult(name: string): string | null {
  return /\.([0-9A-HJKMNP-TV-Z]{26})\.csv$/.exec(name)?.[1] ?? null;
}

/**
 * The name of the CSV result of an order file: no other file has it, also none of the same name.
 */
export function csvResultName(id: string, name: string): string {
  return `${safeFileName(name)}.${id}.csv`;
}
