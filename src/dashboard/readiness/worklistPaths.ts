/** The entry of the menu. */
export const readinessSection = 'Readiness';

/** The address of the worklist of a workspace, or of its export, within limits. */
export function worklistPath(
  workspace: string,
  limits: Record<string, string> = {},
  part: '' | '/export' = '',
): string {
  const query = new URLSearchParams(limits).toString();
  return `/dashboard/workspaces/${workspace}/readiness${part}${query && `?${query}`}`;
}
