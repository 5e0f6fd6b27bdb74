import {
  createServer,
  type IncomingHttpHeaders,
  type Server,
  type ServerResponse,
} from 'node:http';
import { text } from 'node:stream/consumers';

export interface Post {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

type Answer = (response: ServerResponse) => void;

/**
 * The receiver of a shop, on a real socket. It gives one of its answers to each post, and repeats
 * the last one.
 */
export class Receiver {
  readonly posts: Post[] = [];
  readonly #server: Server;
  readonly #answers: Answer[];
  #onPost: () => void = () => undefined;

  private constructor(answers: readonly Answer[]) {
    this.#answers = [...answers];
    this.#server = createServer((request, response) => {
      void text(request).then((body) => {
        this.posts.push({ path: request.url ?? '', headers: request.headers, body });
        const answer = this.#answers.length > 1 ? this.#answers.shift() : this.#answers[0];
        answer?.(response);
        this.#onPost();
      });
    });
  }

  static async open(...answers: Answer[]): Promise<Receiver> {
    const receiver = new Receiver(answers);
    await new Promise<void>((resolve) => receiver.#server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  get url(): string {
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  }

  /** Resolves when that many posts have arrived. */
  async arrived(count: number): Promise<readonly Post[]> {
    while (this.posts.length < count) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#onPost = resolve;
      await promise;
    }
    return this.posts;
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }
}

export const takes: Answer = (response) => void response.writeHead(204).end();
export const answers =
  (status: number, headers: Record<string, string> = {}): Answer =>
  (response) =>
    void response.writeHead(status, headers).end('{}');
export const hangs: Answer = () => undefined;
export const cutsOff: Answer = (response) => void response.socket?.resetAndDestroy();
/** Answers 200 with a body that never ends. */
export const answersForever: Answer = (response) => {
  response.writeHead(200);
  const talk = (): void => {
    while (response.write('x'.repeat(65_536)));
    response.once('drain', talk);
  };
  response.on('error', () => undefined);
  talk();
};
