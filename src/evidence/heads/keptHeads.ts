import type { KeptHead } from '../../ports/headTarget.ts';
import type { PublicKeys } from '../keys/PublicKeys.ts';
import { type TreeHead, treeHeadSchema } from '../treeHead.ts';

/** Heads that were sent, as they are where they were sent to. */
export interface KeptHeads {
  heads: TreeHead[];
  /** A line for each file that is no head of the workspace, or that no key of its time signed. */
  problems: string[];
}

/** Reads the files that a place has of a workspace. Rejects as reading them does. */
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
