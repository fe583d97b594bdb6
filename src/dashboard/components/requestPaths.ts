/** What may limit the list of refused requests in its address. */
export type RequestLimits = Partial<
  Record<'code' | 'key' | 'status' | 'field' | 'request_id' | 'from' | 'to', string>
>;

/** The entry of the menu. */
export const requestsSection = 'Requests';

/**
 * Returns the address of a workspace's refused requests, below `/dashboard`; of those within limits where some are
 * given.
 */
export function requestsPath(workspace: string, limits: RequestLimits = {}): string {
  const query = new URLSearchParams(limits).toString();
  return `/workspaces/${workspace}/requests${query && `?${query}`}`;
}

/** Returns the address of the page of one of them, below `/dashboard`. */
export function requestPath(workspace: string, requestId: string): string {
  return `${requestsPath(workspace)}/${encodeURIComponent(requestId)}`;
}
