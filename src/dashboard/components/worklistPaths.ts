/** The entry of the menu. */
export const readinessSection = 'Readiness';

/** Returns the address of a workspace's worklist, or of its export, within limits. */
export function worklistPath(
  workspace: string,
  limits: Record<string, string> = {},
  part: '' | '/export' = '',
): string {
  const query = new URLSearchParams(limits).toString();
  return `/dashboard/workspaces/${workspace}/readiness${part}${query && `?${query}`}`;
}
