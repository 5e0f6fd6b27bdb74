import { spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** A file system of its own in memory, so that a test can fill it. Only root may mount one. */
export class SmallDisk {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** Null: this process must not mount, and the reason. */
  static mount(folder: string, megabytes: number): SmallDisk | string {
    mkdirSync(folder, { recursive: true });
    const options = ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=0700`, 'tmpfs', folder];
    const { status, stderr, error } = spawnSync('mount', options, { encoding: 'utf8' });
    if (status !== 0) return `cannot mount a small disk: ${error?.message ?? stderr.trim()}`;
    return new SmallDisk(folder);
  }

  get freeBytes(): number {
    const { bavail, bsize } = statfsSync(this.folder);
    return bavail * bsize;
  }

  /** Writes a file that leaves so many bytes free; 0: none. */
  fill(name: string, leaveBytes: number): void {
    const file = openSync(join(this.folder, name), 'a');
    try {
      for (const size of [65_536, 4096])
        while (this.freeBytes >= leaveBytes + size && writes(file, size));
    } finally {
      closeSync(file);
    }
  }

  remove(name: string): void {
    rmSync(join(this.folder, name));
  }

  unmount(): void {
    spawnSync('umount', ['-l', this.folder]);
  }
}

function writes(file: number, size: number): boolean {
  try {
    return writeSync(file, Buffer.alloc(size)) === size;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOSPC') return false;
    throw error;
  }
}
