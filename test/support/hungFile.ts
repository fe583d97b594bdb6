import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';

/**
 * Makes a file that does not answer whoever opens it for writing, as on a disk that hangs; the returned function ends that. It is
 * a pipe, which waits for a reader.
 */
export function hangFile(path: string): () => void {
  execFileSync('mkfifo', [path]);
  return () => closeSync(openSync(path, constants.O_RDONLY | constants.O_NONBLOCK));
}
