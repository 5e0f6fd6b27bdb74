import { styleText } from 'node:util';
import type { EntryState } from '../core/entry/states.ts';
import type { CliContext } from './context.ts';

/** How the answer of a command is shown. */
export interface Terminal {
  /** How many characters a line may have; null: any number, because a program or a file reads it. */
  readonly columns: number | null;
  readonly colors: boolean;
}

/** A file or another program: whole values, no colours. */
export const noTerminal: Terminal = { columns: null, colors: false };

const usualColumns = 80;

/** The terminal that a command answers to. `NO_COLOR` and terminals without colours are known to the stream. */
export function terminalOf({ stdout, noColor }: Pick<CliContext, 'stdout' | 'noColor'>): Terminal {
  if (stdout.isTTY !== true) return noTerminal;
  return { columns: stdout.columns ?? usualColumns, colors: noColor !== true && stdout.hasColors?.() === true };
}

type Color = Parameters<typeof styleText>[0];

const colorOfState: Readonly<
  Partial<Record<EntryState | 'paused' | 'refused_line' | 'refused_file' | 'delivery', Color>>
> = {
  fulfilled: 'green',
  waiting: 'yellow',
  unknown: 'yellow',
  held: 'yellow',
  paused: 'yellow',
  needs_review: 'red',
  rejected: 'red',
  expired: 'red',
  refused_line: 'red',
  refused_file: 'red',
  delivery: 'red',
};
const states: ReadonlyMap<string, Color> = new Map(Object.entries(colorOfState));

// The stream was asked already whether it has colours.
const styled = (color: Color, text: string): string => styleText(color, text, { validateStream: false });

export const heading = (text: string, { colors }: Terminal): string => (colors ? styled('bold', text) : text);

/** Gives the names of states their colours. */
export function colorStates(text: string, { colors }: Terminal): string {
  return colors ? text.replace(/\b[a-z_]+\b/g, (word) => styled(states.get(word) ?? [], word)) : text;
}
