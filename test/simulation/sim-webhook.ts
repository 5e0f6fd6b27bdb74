import { createHmac } from 'node:crypto';
import type { AcceptableLine } from '../../src/core/order/order-request.ts';
import type { WebhookSettings } from '../../src/intake/http/settings.ts';
import { cancelsForeign, type RequestPlan, type SentLine } from './intake-plan.ts';
import { orderObject } from './order-documents.ts';
import type { SimAnswer, SimHttp, SimRequest } from './sim-http.ts';
import { lineName, type StoredLine, type StoredLines } from './stored-lines.ts';
import type { VirtualTime } from './virtual-time.ts';
import type { Invariant } from './invariants.ts';

const token = 'sim-token-of-the-shop-1';
const secret = Buffer.from('sim-secret-of-the-erp-system');

export const webhookCallers = {
  listen: { host: '127.0.0.1', port: 0 },
  tokens: [
    {
      name: 'shop',
      secrets: [token],
      scopes: ['post', 'read', 'cancel', 'cancel_esim'],
      sources: ['shop', 'sim', 'test'],
      currency: null,
    },
  ],
  skuMap: null,
  standardWebhooks: [{ name: 'erp', secret: `whsec_${secret.toString('base64')}`, source: null }],
  limits: {
    bodyBytes: 1_048_576,
    batchLines: 1000,
    depth: 16,
    requestsPerMinute: 600,
    burst: 100,
    uncommitted: 100,
    connections: 512,
    connectionsPerAddress: 512,
    unverifiedBytes: 16_777_216,
    verifiedBytes: 33_554_432,
    headersMs: 10_000,
    requestMs: 30_000,
  },
} as const satisfies WebhookSettings;

export interface SenderOptions {
  readonly time: VirtualTime;
  /** The clock of the machine. */
  readonly wallMs: () => number;
  readonly http: SimHttp;
  /** The worker may fail in the middle of a request. */
  readonly mayFail: boolean;
  readonly stored: StoredLines;
  readonly violate: (invariant: Invariant, sentence: string) => void;
  readonly hit: (place: string) => void;
  readonly onAcknowledged: (line: AcceptableLine, reference: string) => void;
  /** The sender took this back before it was sent to the API. */
  readonly onTakenBack: (reference: string) => void;
  readonly onTakenBackLate: (reference: string) => void;
  readonly isSold: (reference: string) => boolean;
  /** The operator has acted on it. */
  readonly isTouched: (reference: string) => boolean;
}

/**
 * How long a sender waits before it sends again what was not answered, or answered by an error of
 * the worker.
 */
const againMs = 15_000;

/**
 * Programs of shops that post orders over HTTP, again until they are answered, and cancel some of
 * them.
 */
export class SimWebhook {
  readonly #plan: readonly RequestPlan[];
  readonly #options: SenderOptions;
  #open = 0;

  constructor(plan: readonly RequestPlan[], options: SenderOptions) {
    this.#plan = plan;
    this.#options = options;
  }

  begin(): void {
    const { time } = this.#options;
    for (const plan of this.#plan) {
      for (const atMs of [plan.atMs, ...plan.againAtMs]) this.#soon(atMs, () => this.#post(plan));
      if (plan.cancelAtMs !== null)
        time.after(0, () => this.#soon(plan.cancelAtMs ?? 0, () => this.#cancel(plan)));
    }
  }

  get done(): boolean {
    return this.#open === 0;
  }

  #soon(ms: number, act: () => void): void {
    this.#open += 1;
    this.#options.time.after(ms, () => {
      this.#open -= 1;
      act();
    });
  }

  #send(request: SimRequest, onAnswer: (answer: SimAnswer) => void): void {
    this.#open += 1;
    this.#options.http.send(request, (answer) => {
      this.#open -= 1;
      // The worker may have accepted it: only an answer tells.
      const fails = answer?.status === 500 && this.#options.mayFail;
      const again = answer === null || answer.status === 429 || answer.status === 503 || fails;
      if (again) this.#soon(againMs, () => this.#send(request, onAnswer));
      else onAnswer(answer);
    });
  }

  #post(plan: RequestPlan): void {
    const order = orderObject(plan.lines);
    const body = JSON.stringify(plan.inBatch ? { orders: [order] } : order);
    const headers = {
      'content-type': 'application/json',
      ...this.#proofOf(plan, body),
    };
    this.#send({ method: 'POST', path: '/v1/orders', headers, body }, (answer) =>
      this.#posted(plan, answer),
    );
  }

  #posted(plan: RequestPlan, { status, json }: SimAnswer): void {
    const { violate, hit, stored } = this.#options;
    const [first] = plan.lines;
    const name = `the order ${first?.line.source}/${first?.line.orderId}`;
    hit(`request answered ${status}`);
    const isWrong = plan.lines.some(({ mistake }) => mistake !== 'none');
    if (status === 200 || status === 202) {
      if (isWrong || plan.proof === 'forged')
        return violate('I24', `${name} has a mistake, and was answered ${status}`);
      if (cancelsForeign(plan))
        return violate(
          'I48',
          `${name} cancels an eSIM that is unknown, and was answered ${status}`,
        );
      if (stored.inTransaction)
        return violate('I24', `${name} was answered ${status} before the end of a commit`);
      return this.#accepted(plan.lines, name, json);
    }
    if (plan.proof === 'forged' && status === 401) return;
    // Its signature is old, or the worker does not know yet that its clock was set.
    if (plan.proof === 'signature' && status === 401)
      return this.#soon(againMs, () => this.#post(plan));
    if (status === 409 && plan.lines.some((sent) => this.#differs(sent, plan.lines.length))) return;
    if (status === 422 && isWrong) return;
    if (status === 403 && cancelsForeign(plan)) return;
    violate('I24', `${name} was answered ${status}: ${JSON.stringify(json).slice(0, 300)}`);
  }

  #proofOf({ proof }: RequestPlan, body: string): Record<string, string> {
    if (proof === 'token') return { authorization: `Bearer ${token}` };
    const key = proof === 'forged' ? Buffer.concat([secret, Buffer.of(1)]) : secret;
    const id = 'msg_of_the_erp';
    const timestamp = String(Math.floor(this.#options.wallMs() / 1000));
    const signature = createHmac('sha256', key)
      .update(`${id}.${timestamp}.${body}`)
      .digest('base64');
    return {
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${signature}`,
    };
  }

  /**
   * What was accepted under the name of this line has another content, or its order other lines.
   */
  #differs({ line }: SentLine, count: number): boolean {
    const { stored } = this.#options;
    const found = stored.find(line);
    if (found === undefined) return stored.linesOf(line.source, line.orderId).length > 0;
    return (
      found.quantity !== line.quantity || stored.linesOf(line.source, line.orderId).length !== count
    );
  }

  #accepted(lines: readonly SentLine[], name: string, json: SimAnswer['json']): void {
    const { violate, stored, onAcknowledged } = this.#options;
    const text = JSON.stringify(json);
    for (const { line } of lines) {
      const found: StoredLine | undefined = stored.find(line);
      if (found === undefined)
        violate('I24', `${lineName(line)} was acknowledged, and is not in the outbox`);
      else if (found.quantity !== line.quantity)
        violate(
          'I25',
          `${lineName(line)} was acknowledged, and its first content, which differs, stays`,
        );
      else if (!text.includes(`"${found.reference}"`))
        violate(
          'I25',
          `${lineName(line)} was acknowledged under another reference than ${found.reference}`,
        );
      else onAcknowledged(line, found.reference);
    }
    const [first] = lines;
    const count =
      first === undefined ? 0 : stored.linesOf(first.line.source, first.line.orderId).length;
    if (count !== lines.length)
      violate('I25', `${name} has ${lines.length} lines, and the outbox has ${count}`);
  }

  /** What is cancelled at the end was taken back, although the answer may have been lost. */
  tellTakenBack(): void {
    const { stored, onTakenBack, onTakenBackLate } = this.#options;
    for (const { lines, cancelAtMs } of this.#plan) {
      if (cancelAtMs === null) continue;
      for (const { line } of lines)
        for (const { reference, state } of stored.entries(line))
          if (state === 'cancelled') onTakenBack(reference);
          else if (/^(needs_review|ending)$/.test(state)) onTakenBackLate(reference);
    }
  }

  #cancel(plan: RequestPlan): void {
    const [first] = plan.lines;
    if (first === undefined) return;
    const { source, orderId } = first.line;
    const path = `/v1/orders/${source}/${orderId}`;
    const headers = { authorization: `Bearer ${token}` };
    this.#send({ method: 'DELETE', path, headers, body: '' }, ({ status }) => {
      const { violate, hit, stored, onTakenBack } = this.#options;
      hit(`cancel answered ${status}`);
      // It may come before the order itself, or when it was sent already.
      if (status === 404 || status === 409) return;
      if (status !== 200) return violate('I24', `DELETE ${path} was answered ${status}`);
      // Later entries are re-orders of an operator.
      const entries = plan.lines.flatMap(({ line }) => stored.entries(line).slice(0, 1));
      for (const { reference, state } of entries) {
        if (state === 'cancelled') onTakenBack(reference);
        else if (!isOver(state))
          violate('I26', `DELETE ${path} was answered 200, and ${reference} is ${state}`);
      }
    });
  }
}

/** States in which nothing is bought any more, and nothing was. */
const isOver = (state: string): boolean => state === 'rejected' || state === 'expired';
