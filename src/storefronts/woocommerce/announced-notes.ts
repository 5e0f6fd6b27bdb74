import { fieldKeys, type FieldValues, type OrderField } from './order-fields.ts';

/**
 * The notes that write-back was about to post, with the time: a field of the order has them before the first try. A note
 * cannot be posted so that a second try does nothing, and the answer of the first may be lost. So a note that was announced
 * is looked for before it is posted again, also by a worker whose disk was lost.
 */
export type AnnouncedNotes = ReadonlyMap<string, number>;

export function readAnnouncedNotes(fields: FieldValues): AnnouncedNotes {
  const entries = (fields.get(fieldKeys.notes) ?? []).flatMap((text) => text.split(' '));
  return new Map(
    entries.flatMap((entry): [string, number][] => {
      const [marker = '', time = ''] = entry.split('@');
      const ms = Date.parse(time);
      return /^\[order-sync:[0-9a-f]{16}\]$/.test(marker) && Number.isFinite(ms) ? [[marker, ms]] : [];
    }),
  );
}

export function announcedNotesField(announced: AnnouncedNotes): OrderField {
  const entries = [...announced].map(([marker, ms]) => `${marker}@${new Date(ms).toISOString()}`);
  return { key: fieldKeys.notes, value: entries.join(' ') };
}
