import { type FSWatcher, watch } from 'node:fs';

/**
 * Hears that something may have changed in a folder. Only a hint: events get lost, and on network and container
 * mounts none come at all, so that nothing may depend on it and its own failures do not matter.
 */
export class InboxWatcher {
  readonly #folder: string;
  readonly #onHint: () => void;
  #watcher: FSWatcher | null = null;

  constructor(folder: string, onHint: () => void) {
    this.#folder = folder;
    this.#onHint = onHint;
  }

  /** Begins to listen, or begins again after the folder was replaced. */
  listen(): void {
    if (this.#watcher !== null) return;
    try {
      const watcher = watch(this.#folder, { persistent: false }, () => this.#onHint());
      watcher.on('error', () => this.close());
      this.#watcher = watcher;
    } catch {
      this.#watcher = null;
    }
  }

  close(): void {
    this.#watcher?.close();
    this.#watcher = null;
  }
}
