import { readdirSync } from 'node:fs';

/** The names of a workspace's heads in a folder, in their order; drafts that are being written are none. */
export function headNames(folder: string, workspace: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.startsWith(`${workspace}-`) && name.endsWith('.json'))
    .toSorted();
}
