import { appendFile } from 'node:fs/promises';

export type Letter = { to: string; account: string; purpose: string; code: string; sent_at: string };

/** Stands for the account holder's phone or e-mail (Spec 5.3): one JSON line a letter, in a file only its owner reads. */
export class Outbox {
  readonly #path: string | null;
  readonly #announce: (letter: Letter) => void;

  /** Null: letters are only announced. */
  constructor(path: string | null, announce: (letter: Letter) => void) {
    this.#path = path;
    this.#announce = announce;
  }

  async send(letter: Letter): Promise<void> {
    if (this.#path !== null) await appendFile(this.#path, `${JSON.stringify(letter)}\n`, { mode: 0o600 });
    this.#announce(letter);
  }
}
