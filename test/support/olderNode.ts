import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** A Node before 24 on the path, outside this package. */
function findOlderNode(): string | undefined {
  const folders = (process.env.PATH ?? '')
    .split(delimiter)
    .filter((folder) => !folder.includes('node_modules'));
  return folders
    .map((folder) => join(folder, 'node'))
    .find(
      (node) =>
        existsSync(node) && Number(execFileSync(node, ['-p', 'parseInt(process.version.slice(1))'])) < 24,
    );
}

/** What `chartledger` has to start on, too; undefined, with a line that says so, where there is none. */
export const olderNode = findOlderNode();
if (olderNode === undefined) process.stdout.write('Skipped: no Node older than 24 is on the path.\n');

/** Every Node to be tried: the one that runs the tests, and an older one. */
export const nodes = [process.execPath, ...(olderNode === undefined ? [] : [olderNode])];
