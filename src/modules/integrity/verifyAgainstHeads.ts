import { ServiceError } from '../../platform/errors.ts';
import type { HeadTarget } from '../../storage/headTarget.ts';
import { type KeptHeads, keptHeads } from './keptHeads.ts';
import { keysOfLog } from './loggedRotations.ts';
import type { PublicKeys } from './PublicKeys.ts';
import { headFilesOf } from './sendHeads.ts';
import type { TreeHead } from './treeHead.ts';
import type { VerificationFindings } from './verification.ts';
import { verifiedTexts } from './verifiedTexts.ts';
import { type Verified, type VerifyOptions, type VerifyPorts, verifyWorkspace } from './verifyWorkspace.ts';

/** Number of erasures that are listed; the rest are counted. */
const TOLD = 20;

/** What the history is compared with besides the read model. */
export interface KnownHeads {
  /** The last head sent, as recorded by the service. */
  sent: TreeHead | undefined;
  /** Where all of them are; undefined if this process does not know. */
  target: HeadTarget | undefined;
  /** For checking them; undefined: no head can be checked. */
  publicKeys: PublicKeys | undefined;
}

/** The findings, and what is needed to create a head. */
export interface VerifiedHistory {
  findings: VerificationFindings;
  tree: Verified['tree'];
  lastEvent: Verified['lastEvent'];
}

/** Verifies the history of a workspace, also against the heads that were sent. Rejects with `unavailable`. */
export async function verifyAgainstHeads(
  ports: VerifyPorts,
  workspace: string,
  known: KnownHeads,
  onProgress: VerifyOptions['onProgress'],
): Promise<VerifiedHistory> {
  const { publicKeys, ends, problems: keyProblems } = await keysOfLog(ports.eventLog, known.publicKeys);
  const { heads, problems: headProblems, remark } = await headsOf(workspace, { ...known, publicKeys });
  const found = await verifyWorkspace(ports, workspace, { heads, keyEnds: ends, onProgress });
  const { problems, remarks } = verifiedTexts(found);
  const { tree, lastEvent, compared, erased } = found;
  const told = erased.told.slice(-TOLD);
  return {
    findings: {
      events: tree.size,
      compared,
      heads: heads.length,
      problems: [...keyProblems, ...headProblems, ...problems],
      remarks: remark === undefined ? remarks : [remark, ...remarks],
      erased: { count: erased.count, erasures: erased.told.length, told },
    },
    tree,
    lastEvent: lastEvent && {
      id: lastEvent.id,
      ...(lastEvent.recordedAt && { recordedAt: lastEvent.recordedAt }),
    },
  };
}

/** Returns those stored at their destination, and the last one recorded by the service. */
async function headsOf(
  workspace: string,
  { sent, target, publicKeys }: KnownHeads,
): Promise<KeptHeads & { remark?: string }> {
  const remembered = sent === undefined ? [] : [sent];
  if (target === undefined || publicKeys === undefined) return { heads: remembered, problems: [] };
  if (target.kept === undefined) {
    const remark = `The heads sent to ${target.place} cannot be read back, so the history was compared only with the last head.`;
    return { heads: remembered, problems: [], remark };
  }
  try {
    const found = await keptHeads(target.kept(headFilesOf(workspace)), workspace, publicKeys);
    const isKept = (head: TreeHead) => found.heads.some(({ signature }) => signature === head.signature);
    return { ...found, heads: [...remembered.filter((head) => !isKept(head)), ...found.heads] };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const remark = `The heads in ${target.place} could not be read: ${error.problem ?? error.message}`;
    return { heads: remembered, problems: [], remark };
  }
}
