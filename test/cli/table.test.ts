import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { renderTable } from '../../src/cli/table.ts';
import { noTerminal, terminalOf } from '../../src/cli/terminal.ts';

const header = ['ATTENTION', 'ID', 'SINCE', 'WHAT HAPPENED'];
const reference = 'os-23hkbe5tagrk757d7j5letutud';
const message = 'out_of_stock: the supplier has none of these cards at the moment, and asks to try it again tomorrow';
const rows = [['rejected', reference, '2026-11-21 12:00:01Z', message]];
const wide = { columns: 80, colors: false };

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
    const [head = ''] = renderTable(header, rows, { columns: 200, colors: false }).split('\n');
    expect(renderTable(header, rows, noTerminal).split('\n')).toEqual([head, expect.stringContaining(message), '']);
  });

  it('has colours that change no width', () => {
    const plain = renderTable(header, rows, wide);
    const colored = renderTable(header, rows, { ...wide, colors: true });
    expect(colored).toContain('\u001b[1mATTENTION');
    expect(colored).toContain('\u001b[31mrejected\u001b[39m');
    expect(stripVTControlCharacters(colored)).toBe(plain);
  });
});

describe('the terminal of a command', () => {
  const stdout = { isTTY: true, columns: 120, write: () => true, hasColors: () => true };

  it('has colours only where it can show them and nobody wants none', () => {
    expect(terminalOf({ stdout })).toEqual({ columns: 120, colors: true });
    expect(terminalOf({ stdout, noColor: true })).toEqual({ columns: 120, colors: false });
    // As the streams of Node answer when NO_COLOR is set.
    expect(terminalOf({ stdout: { ...stdout, hasColors: () => false } })).toEqual({ columns: 120, colors: false });
    expect(terminalOf({ stdout: { ...stdout, isTTY: false } })).toEqual(noTerminal);
  });
});
