import { statSync } from 'node:fs';

/** Tells a file or folder from another one of the same name; undefined when there is none. */
export function fileIdentity(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}
