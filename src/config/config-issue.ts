import { OrderSyncError } from '../core/order-sync-error.ts';

/** One thing that is wrong with a configuration. */
export interface ConfigIssue {
  /** `file:line:column`, the name of a variable, or a flag. */
  readonly place: string;
  /** Dotted path of the key; empty when the file as a whole is meant. */
  readonly path: string;
  /** A sentence without its subject: the rule, the value met (never a secret), what is expected. */
  readonly problem: string;
}

/** Carries every issue at once, so that a person corrects a file in one go. Its code is CONFIG_INVALID. */
export class ConfigInvalidError extends OrderSyncError {
  readonly issues: readonly ConfigIssue[];

  constructor(name: string, issues: readonly ConfigIssue[]) {
    const lines = issues.map((issue) => `  ${renderIssue(issue)}`);
    const headline = `${name} has ${issues.length === 1 ? 'a mistake' : `${issues.length} mistakes`}:`;
    super('CONFIG_INVALID', [headline, ...lines].join('\n'), {
      hint: 'correct it, then run `order-sync check-config`; every key is described in docs/config.md',
    });
    this.issues = issues;
  }
}

export function renderIssue(issue: ConfigIssue): string {
  return [issue.place, issue.path, issue.problem].filter((part) => part !== '').join(' ');
}
