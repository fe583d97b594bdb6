/** The entry of the menu. */
export const sourcesSection = 'Sources';

/** The address of the sources of a workspace, below `/dashboard`. */
export function sourcesPath(workspace: string): string {
  return `/workspaces/${workspace}/sources`;
}

/** The address of what is done to one of them, below `/dashboard`. */
export function sourcePath(workspace: string, id: string, action: 'edit' | 'remove'): string {
  return `${sourcesPath(workspace)}/${id}/${action}`;
}
