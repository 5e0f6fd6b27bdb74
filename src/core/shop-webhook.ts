/** How the webhooks of a platform are signed and marked. The names of headers are in lower case. */
export interface WebhookFormat {
  /** Carries the base64 of HMAC-SHA256 over the raw body. */
  readonly signatureHeader: string;
  /** Marks a test order with any value but `false`; null: the platform has no such header. */
  readonly testHeader: string | null;
  /** Says what a webhook is about. It is not signed. */
  readonly topicHeader: string;
  /** Names the shop that sends it. */
  readonly siteHeader: string;
  /** The topic of a deleted order, whose body has only its id. */
  readonly deletedTopic: string;
  /** The body of a ping that is not signed; null: the platform sends none. */
  readonly unsignedPing: RegExp | null;
}
