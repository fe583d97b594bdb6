import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, renameSync, rmSync } from 'node:fs';

/**
 * Puts a file in a place that does not answer whoever opens it, as on a disk that hangs, until the returned function is called. It
 * is a pipe, which waits for its other end.
 */
export function hangFile(path: string): () => void {
  const pipe = `${path}.pipe`;
  execFileSync('mkfifo', [pipe]);
  renameSync(pipe, path);
  return () => {
    const ends = openSync(path, constants.O_RDWR);
    rmSync(path);
    closeSync(ends);
  };
}
