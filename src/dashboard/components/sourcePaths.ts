/** The entry of the menu. */
export const sourcesSection = 'Sources';

/** Returns the address of a workspace's sources, below `/dashboard`. */
export function sourcesPath(workspace: string): string {
  return `/workspaces/${workspace}/sources`;
}

/** Returns the address of an operation on one of them, below `/dashboard`. */
export function sourcePath(workspace: string, id: string, action: 'edit' | 'remove'): string {
  return `${sourcesPath(workspace)}/${id}/${action}`;
}
