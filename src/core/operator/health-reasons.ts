import { sentence } from '../message-text.ts';

/** The cause and the first step where the details of a check do not say more. */
const meanings: Readonly<Record<string, string>> = {
  database:
    'The database cannot be written, or was replaced, so no orders are accepted: repair its disk, then restart the worker.',
  disk: 'The disk of the outbox is nearly full, so no new orders are accepted: free space or enlarge the disk.',
  progress_file:
    'The progress file cannot be written, so the worker could miss that a database is an older copy: repair the progress file.',
  folder:
    'Files of this watched folder are not read, because its inbox, another of its folders or its SKU map cannot be used: the log says which.',
  webhook:
    'The intake over HTTP refuses callers, has a long queue, or has an unusable SKU map: the log says which.',
  clock: 'The clock of this machine differs from that of the API: use NTP on this machine.',
  config:
    'The changed configuration has mistakes, so the previous one is in use: run `order-sync check-config`.',
  read_back:
    "A shop cannot be read back: check the address and the keys of the shop's API; the log has its answer.",
};

/**
 * Why a check of `/healthz` does not pass, and what an operator does first. @param details as
 * `/healthz` shows them
 */
export function checkReason(
  name: string,
  status: string,
  details: Readonly<Record<string, unknown>>,
): string {
  const { reason, next, ahead_ms: aheadMs } = details;
  if (typeof aheadMs === 'number') {
    const seconds = Math.round(Math.abs(aheadMs) / 1000);
    return `The clock of this machine is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} that of the API: use NTP on this machine.`;
  }
  if (typeof reason !== 'string')
    return (
      meanings[name.replace(/:.*/, '')] ?? `The check ${name} is \`${status}\`: the log says why.`
    );
  return [reason, next]
    .flatMap((text) => (typeof text === 'string' ? sentence(text) : []))
    .join(' ');
}
