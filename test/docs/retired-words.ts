/** Words that this project does not use, and the word of docs/glossary.md that it uses in their place. */
export const retiredWords: readonly { readonly pattern: RegExp; readonly use: string }[] = [
  { pattern: /\b(stands?|standing|stood)\s+still\b|StandingStill|standing_still/i, use: 'paused, is paused' },
  { pattern: /\b(goes|go|went|going|gone)\s+on\b|\blets?\s+go\b/i, use: 'resumes, continues' },
  { pattern: /\b(before|in\s+front\s+of)\s+a\s+person\b/i, use: 'needs review' },
  {
    pattern: /\b(a\s+person\s+is\s+told|tell(s|ing)?\s+(a|the)\s+person|tells?\s+of|told\s+(of|to|as))\b/i,
    use: 'flagged, flags for review',
  },
  { pattern: /\bpart(ed|ing)\b|\bhal(f|ves)\b|\bchunks?\b/i, use: 'split, part' },
  { pattern: /\bdoubt(s|ed|ful)?\b|[iI]nDoubt|in_doubt|[a-z]Doubt/, use: 'outcome unknown' },
  { pattern: /\bquiet\b|[qQ]uietMs|quiet_ms|[qQ]uiet[A-Z]/, use: 'settlement delay' },
  { pattern: /\bhorizon/i, use: 'reference expiry' },
  { pattern: /\boutposts?\b/i, use: 'worker client' },
  { pattern: /\bdesks?\b|[a-z]Desk\b/i, use: 'StorefrontIntake, OperatorActions, ConfigReloader, AccountService' },
  { pattern: /\bshel(f|ves)\b/i, use: 'SandboxState' },
  { pattern: /\bdoors?\b|[a-z]Doors?\b|\bDoor/i, use: 'endpoint' },
  { pattern: /\bheed/i, use: 'respects, backOffIfRateLimited, pauseIfDenied' },
  {
    pattern: /\bturn(s|ed|ing)?\s+(it\s+|them\s+|us\s+|a\s+call\s+)?away\b|turnedAway|turned_away/i,
    use: 'rate-limited, denied',
  },
  {
    pattern: /\b(left|leave|leaves|leaving)\s+(\S+\s+){0,3}alone\b|left_alone|\bspread(s|ing)?\s+out\b|spread_out/i,
    use: 'backing off, throttled',
  },
  { pattern: /(?<!key )\b(ring|rings|rang|rung|nap|naps)\b/i, use: 'notify, idle delay' },
  { pattern: /\b(deeds?|wish(es)?)\b|PersonsWish|\bEntryAct\b/i, use: 'AuditedRequest, audit entry, EntryCommand' },
  { pattern: /ShopMark|[kK]eyPrint/, use: 'ShopFingerprint, keyFingerprint' },
  { pattern: /[lL]ookFirst|look_first/, use: 'recoveryStage' },
  {
    pattern: /[jJ]udgedCall|\brefusals?\s+in\s+a\s+row\b|refusalsInARow/i,
    use: 'recent verdicts, consecutive rejections',
  },
  { pattern: /insteadOf|[fF]ollowUp|follow_up|\bfollow-ups?\b/, use: 'replacementsFor, replacement' },
  { pattern: /(?<=#|\.)besides?\b|\bbesides?:/, use: 'runInBackground, backgroundTasks' },
  {
    pattern: /\brooms?\b|\bhouses?\b|[a-z]House\b|\bdrawing\b/i,
    use: 'module, project, design; free space (of a disk)',
  },
];
