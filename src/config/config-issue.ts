import { OrderSyncError } from '../core/order-sync-error.ts';

export interface ConfigIssue {
  /** `file:line:column`, the name of a variable, or a flag. */
  readonly place: string;
  /** Dotted path of the key; empty for the file as a whole. */
  readonly path: string;
  /**
   * A sentence whose subject is the key: the rule, the value (never a secret), what is expected.
   */
  readonly problem: string;
}

/** CONFIG_INVALID with every mistake of a configuration, so that all can be corrected together. */
export class ConfigInvalidError extends OrderSyncError {
  readonly issues: readonly ConfigIssue[];

  constructor(name: string, issues: readonly ConfigIssue[]) {
    const lines = issues.map((issue) => `  ${renderIssue(issue)}`);
    const headline = `${name} has ${issues.length === 1 ? 'a mistake' : `${issues.length} mistakes`}:`;
    super('CONFIG_INVALID', [headline, ...lines].join('\n'), {
      hint: 'correct the file, then run `order-sync check-config`. docs/reference/config-keys.md describes every key',
    });
    this.issues = issues;
  }
}

function renderIssue(issue: ConfigIssue): string {
  return [issue.place, issue.path, issue.problem].filter((part) => part !== '').join(' ');
}
