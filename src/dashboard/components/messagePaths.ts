/** What may limit the list of messages in its address. */
export type MessageLimits = Partial<Record<'rejected' | 'source' | 'range' | 'page_token', string>>;

/** The entry of the menu. */
export const messagesSection = 'Messages';

/**
 * Returns the address of the messages that EMRs sent to a workspace, below `/dashboard`; of those within limits where
 * some are given.
 */
export function messagesPath(workspace: string, limits: MessageLimits = {}): string {
  const query = new URLSearchParams(limits).toString();
  return `/workspaces/${workspace}/messages${query && `?${query}`}`;
}

/** Returns the address of the page of one of them, below `/dashboard`. */
export function messagePath(workspace: string, id: string): string {
  return `${messagesPath(workspace)}/${encodeURIComponent(id)}`;
}
