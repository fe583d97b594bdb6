import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../src/platform/config.ts';

/** The files that a service's documents folder holds, as `objects` and `uploads` (those under way). */
export function storedFiles({ documentsUrl }: Config): { objects: string[]; uploads: string[] } {
  const folder = documentsUrl.slice('file:'.length);
  const files = (name: string) =>
    readdirSync(join(folder, name), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => entry.name);
  return { objects: files('objects'), uploads: files('uploads') };
}
