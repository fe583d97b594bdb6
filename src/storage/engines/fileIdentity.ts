import { statSync } from 'node:fs';

/** Identifies a file or folder among others of the same name; undefined when there is none. */
export function fileIdentity(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}
