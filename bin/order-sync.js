#!/usr/bin/env node
// Plain JavaScript on purpose, with no imports at the top: better-sqlite3 crashes the whole process on an old Node
// and an old Node cannot read TypeScript, so the runtime is checked before anything else is loaded.

// As the first process of a container it gets no signal that it does not ask for: the system would wait for its time limit.
// Whoever asks later ends the program in its own way.
if (process.pid === 1) {
  for (const [name, code] of [
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ]) {
    process.on(name, () => {
      if (process.listenerCount(name) === 1) process.exit(code);
    });
  }
}

// Node opens its debugger at this signal, for everybody who shares this loopback, such as the other containers of a pod. Whoever
// starts Node with --disable-sigusr1 closes it in the moment before this line, too.
process.on('SIGUSR1', () => {});

const required = { major: 24, minor: 12 };
const [major, minor] = process.versions.node.split('.').map(Number);
const tooOld = major < required.major || (major === required.major && minor < required.minor);

if (tooOld) {
  process.stderr.write(
    `order-sync needs Node >= ${required.major}.${required.minor}, but this is Node ${process.versions.node} (${process.execPath}).\n` +
      'What to do, one of:\n' +
      '  - in a clone, run it through npm, which brings the right Node along:  npm ci && npm start\n' +
      '  - there, use that Node for any command:                               npx order-sync --help\n' +
      `  - install Node ${required.major} LTS or newer and call order-sync with it\n`,
  );
  process.exitCode = 2;
} else {
  // Others start 20 ms sooner without: changed flags make V8 compile anew what was built into Node.
  if (['run', 'demo', 'submit'].includes(process.argv[2])) await import('./memory-limits.js');
  // Two thirds of a start are the reading of modules; what was read is kept for the next one. Beside the modules, because
  // whoever may write there may change the program anyway; where it cannot be written, nothing is kept.
  const { enableCompileCache, flushCompileCache } = await import('node:module');
  if (process.env.NODE_COMPILE_CACHE === undefined) {
    const { fileURLToPath } = await import('node:url');
    enableCompileCache(
      fileURLToPath(new URL('../node_modules/.cache/order-sync', import.meta.url)),
    );
  }
  // It is written when the program ends; a worker may be killed instead.
  setTimeout(() => flushCompileCache(), 10_000).unref();
  // The package and the container have only the bundle, which starts in 55 % of the time (and Node refuses to strip types
  // inside node_modules). In a clone the TypeScript runs as it is, also where somebody has built the bundle.
  const { existsSync } = await import('node:fs');
  const compiled = new URL('../dist/main.js', import.meta.url);
  const source = new URL('../src/main.ts', import.meta.url);
  await import((existsSync(source) ? source : compiled).href);
}
