import { recordPath } from './recordPaths.ts';

/** The entry of the menu. */
export const holdsSection = 'Legal holds';

/** Returns the address of a workspace's legal holds, below `/dashboard`. */
export function holdsPath(workspace: string): string {
  return `/workspaces/${workspace}/holds`;
}

/** Returns the address of the page that places a record under legal hold, below `/dashboard`. */
export function recordHoldPath(workspace: string, kind: string, id: string): string {
  return `${recordPath(workspace, kind, id)}/hold`;
}
