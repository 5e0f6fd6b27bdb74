import { describe, expect, it } from 'vitest';
import { whatToDo } from '../../src/core/operator/attention.ts';
import { attentionTable, columnsOf, renderTable } from '../../src/cli/table.ts';

const header = ['ATTENTION', 'ID', 'SINCE', 'WHAT HAPPENED'];
const reference = 'os-23hkbe5tagrk757d7j5letutud';
const message =
  'out_of_stock: the supplier has none of these cards at the moment, and asks to try it again tomorrow';
const rows = [['rejected', reference, '2026-11-21 12:00:01Z', message]];
const wide = 80;

describe('a table on a terminal', () => {
  it('is no wider than it, and keeps whole what a person copies', () => {
    const lines = renderTable(header, rows, wide).split('\n');
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
    expect(lines[1]).toContain(reference);
    // No word is lost.
    const words = lines.slice(1).join(' ').split(/\s+/);
    for (const word of message.split(' ')) expect(words).toContain(word);
  });

  it('breaks a word that is longer than its column', () => {
    const text = renderTable(['NAME', 'VALUE'], [['a', 'x'.repeat(200)]], wide);
    expect(Math.max(...text.split('\n').map((line) => line.length))).toBe(80);
    expect(text.replace(/[^x]/g, '')).toHaveLength(200);
  });

  it('is as wide as its content where the terminal is wider, and in a file', () => {
    const [head = ''] = renderTable(header, rows, 200).split('\n');
    expect(renderTable(header, rows).split('\n')).toEqual([
      head,
      expect.stringContaining(message),
      '',
    ]);
  });

  it('is as wide as the terminal, and any width for a file', () => {
    const stdout = { isTTY: true, columns: 120, write: () => true };
    expect(columnsOf({ stdout })).toBe(120);
    expect(columnsOf({ stdout: { ...stdout, isTTY: false } })).toBeNull();
  });
});

describe('rows of the attention list', () => {
  const row = {
    kind: 'rejected',
    id: reference,
    reference,
    source: 'shop1',
    orderId: '1001',
    lineId: '2',
    reason: 'rejected',
    state: 'rejected',
    code: 'out_of_stock',
    message: 'the supplier has none of these cards at the moment, and asks to try it again',
    since: '2026-11-21T12:00:01.000Z',
    scope: null,
    holdsUp: 'this line',
    whatToDo: whatToDo('rejected'),
    canAcknowledge: true,
  } as const;

  it('are records on a narrow terminal: one field a line, whole words, and the whole advice', () => {
    const text = attentionTable([row], wide);
    const lines = text.split('\n');
    expect(lines[0]).toBe(`${reference} (rejected)`);
    expect(lines.slice(1, 4)).toEqual([
      '  since     2026-11-21 12:00:01Z',
      '  concerns  shop1/1001/2',
      '  happened  out_of_stock: The supplier has none of these cards at the moment,',
    ]);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(wide);
    const words = text.split(/\s+/).join(' ');
    expect(words).toContain(`to do ${row.whatToDo}`);
  });

  it('are a table where there is space, and in a file', () => {
    for (const columns of [200, null])
      expect(attentionTable([row], columns)).toMatch(/^ATTENTION +ID +SINCE/);
  });
});
