const lasting = new Set(['ERR_DLOPEN_FAILED']);

/** What the system said about a file or a folder: it may pass, so it is met with patience, not with an end. */
export function isFilesystemError(error: unknown): error is NodeJS.ErrnoException {
  return (
    error instanceof Error &&
    'syscall' in error &&
    'code' in error &&
    typeof error.code === 'string' &&
    !lasting.has(error.code)
  );
}

export function hasErrno(error: unknown, ...codes: readonly string[]): boolean {
  return isFilesystemError(error) && codes.includes(error.code ?? '');
}
