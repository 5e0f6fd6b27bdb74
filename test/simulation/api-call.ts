/** A request as it arrives at the API. */
export interface ApiCall {
  readonly method: string;
  readonly path: string;
  readonly authorization: string;
  readonly body: string | null;
}

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}
