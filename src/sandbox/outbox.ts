import { appendFile } from 'node:fs/promises';

export type Letter = { to: string; account: string; purpose: string; code: string; sent_at: string };

/** Stands for the account holder's phone or e-mail (Spec 5.3): one JSON line a letter, in a file only its owner reads. */
export class Outbox {
  readonly #path: string;
  readonly #announce: (letter: Letter) => void;

  constructor(path: string, announce: (letter: Letter) => void) {
    this.#path = path;
    this.#announce = announce;
  }

  async send(letter: Letter): Promise<void> {
    await appendFile(this.#path, `${JSON.stringify(letter)}\n`, { mode: 0o600 });
    this.#announce(letter);
  }
}
