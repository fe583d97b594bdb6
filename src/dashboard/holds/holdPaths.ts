import { recordPath } from '../records/recordPaths.ts';

/** The entry of the menu. */
export const holdsSection = 'Legal holds';

/** The address of a workspace's legal holds, below `/dashboard`. */
export function holdsPath(workspace: string): string {
  return `/workspaces/${workspace}/holds`;
}

/** The address of the page that puts a record under legal hold, below `/dashboard`. */
export function recordHoldPath(workspace: string, kind: string, id: string): string {
  return `${recordPath(workspace, kind, id)}/hold`;
}
