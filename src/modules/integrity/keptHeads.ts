import type { KeptHead } from '../../storage/headTarget.ts';
import type { PublicKeys } from './PublicKeys.ts';
import { type TreeHead, treeHeadSchema } from './treeHead.ts';

/** Heads that were sent, as stored at their destination. */
export interface KeptHeads {
  heads: TreeHead[];
  /** A line for each file that is not a head of the workspace, or was not signed by a key valid at its time. */
  problems: string[];
}

/** Reads a place's files for a workspace. Rejects as reading them does. */
export async function keptHeads(
  files: AsyncIterable<KeptHead>,
  workspace: string,
  publicKeys: PublicKeys,
): Promise<KeptHeads> {
  const found: KeptHeads = { heads: [], problems: [] };
  for await (const { name, text } of files) {
    const head = parseHead(text);
    const problem =
      head === undefined
        ? 'it is not a tree head'
        : head.workspace === workspace
          ? publicKeys.problem(head)
          : `it belongs to the workspace ${head.workspace}`;
    if (head === undefined || problem)
      found.problems.push(`The saved head ${name} is not valid: ${problem}.`);
    else found.heads.push(head);
  }
  return found;
}

function parseHead(text: string): TreeHead | undefined {
  try {
    return treeHeadSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
