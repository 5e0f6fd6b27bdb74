/**
 * The packages that are not in the bundle, and so the only dependencies of the package: those with
 * a binary.
 */
export const external: readonly string[] = ['better-sqlite3'];
