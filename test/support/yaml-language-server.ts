import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { projectRoot } from './worker-process.ts';

interface Message {
  readonly id?: number | string;
  readonly method?: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- each method has its own form
  readonly params?: any;
}

/** The server that editors start for YAML files, as a process, over standard input and output. */
export class YamlLanguageServer {
  readonly #process: ChildProcessWithoutNullStreams;
  #received = Buffer.alloc(0);
  #version = 0;
  /** Who waits for the mistakes of a file. */
  readonly #waiting = new Map<string, (mistakes: string[]) => void>();

  private constructor(process: ChildProcessWithoutNullStreams) {
    this.#process = process;
    process.stdout.on('data', (bytes: Buffer) => this.#receive(bytes));
    process.stderr.pipe(globalThis.process.stderr);
  }

  static async start(): Promise<YamlLanguageServer> {
    const program = join(projectRoot, 'node_modules/yaml-language-server/bin/yaml-language-server');
    const server = new YamlLanguageServer(spawn(process.execPath, [program, '--stdio']));
    await server.#ask('initialize', {
      processId: process.pid,
      rootUri: null,
      capabilities: { workspace: { configuration: true } },
    });
    server.#send({ method: 'initialized', params: {} });
    return server;
  }

  /**
   * The mistakes that an editor marks in this text of a file, each as `<line>: <message>`. It waits
   * until there is one.
   */
  async mistakesIn(file: string, text: string): Promise<string[]> {
    const uri = pathToFileURL(file).href;
    const marked = new Promise<string[]>((resolve) => this.#waiting.set(uri, resolve));
    const textDocument = { uri, languageId: 'yaml', version: (this.#version += 1), text };
    this.#send({ method: 'textDocument/didOpen', params: { textDocument } });
    const mistakes = await marked;
    this.#send({ method: 'textDocument/didClose', params: { textDocument: { uri } } });
    return mistakes;
  }

  async stop(): Promise<void> {
    const ended = once(this.#process, 'exit');
    this.#process.kill();
    await ended;
  }

  #ask(method: string, params: unknown): Promise<void> {
    const answered = new Promise<void>((resolve) => this.#waiting.set(method, () => resolve()));
    this.#send({ id: method, method, params });
    return answered;
  }

  #send(message: object): void {
    const body = JSON.stringify({ jsonrpc: '2.0', ...message });
    this.#process.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  }

  #receive(bytes: Buffer): void {
    this.#received = Buffer.concat([this.#received, bytes]);
    for (;;) {
      const start = this.#received.indexOf('\r\n\r\n') + 4;
      if (start < 4) return;
      const head = this.#received.toString('latin1', 0, start);
      const end = start + Number(/Content-Length: (\d+)/.exec(head)?.[1]);
      if (this.#received.length < end) return;
      this.#handle(JSON.parse(this.#received.toString('utf8', start, end)));
      this.#received = this.#received.subarray(end);
    }
  }

  #handle({ id, method, params }: Message): void {
    if (method === 'workspace/configuration') {
      // Its catalogue of schemas is in the network.
      const yaml = { validate: true, schemaStore: { enable: false } };
      const result = params.items.map(({ section }: { section: string }) =>
        section === 'yaml' ? yaml : null,
      );
      this.#send({ id, result });
    } else if (method === 'textDocument/publishDiagnostics') {
      const { uri, diagnostics } = params;
      const mistakes = diagnostics.map(
        (one: { range: { start: { line: number } }; message: string }) =>
          `${one.range.start.line + 1}: ${one.message}`,
      );
      if (mistakes.length > 0) this.#waiting.get(uri)?.(mistakes);
    } else if (method === undefined) this.#waiting.get(String(id))?.([]);
    else if (id !== undefined) this.#send({ id, result: null });
  }
}
