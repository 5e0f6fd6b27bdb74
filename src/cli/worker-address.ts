/** A worker that listens on every address of the machine is asked over the one that never leaves it. */
export function loopbackAddress(address: string): string {
  return address.replace(/^0\.0\.0\.0:/, '127.0.0.1:').replace(/^\[::\]:/, '[::1]:');
}
