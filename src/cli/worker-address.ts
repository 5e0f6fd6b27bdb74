import { readRunFile } from '../ops/run-file.ts';

const answerWithinMs = 1000;

/** A worker that listens on every address of the machine is asked over the one that never leaves it. */
export function loopbackAddress(address: string): string {
  return address.replace(/^0\.0\.0\.0:/, '127.0.0.1:').replace(/^\[::\]:/, '[::1]:');
}

/** Whether the worker that wrote the run file lives. The file may have outlived it, so it is asked. */
export async function workerAnswers(dataDir: string): Promise<boolean> {
  const run = readRunFile(dataDir);
  if (run === null) return false;
  try {
    const answer = await fetch(`http://${loopbackAddress(run.admin_address)}/livez`, {
      signal: AbortSignal.timeout(answerWithinMs),
      redirect: 'error',
    });
    return answer.ok;
  } catch {
    return false;
  }
}
