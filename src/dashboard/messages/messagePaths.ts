/** What the list of messages may be limited to by its address. */
export type MessageLimits = Partial<Record<'rejected' | 'source' | 'range' | 'page_token', string>>;

/** The entry of the menu. */
export const messagesSection = 'Messages';

/** The address of the messages that EMRs sent to a workspace, below `/dashboard`; of those within limits where some are named. */
export function messagesPath(workspace: string, limits: MessageLimits = {}): string {
  const query = new URLSearchParams(limits).toString();
  return `/workspaces/${workspace}/messages${query && `?${query}`}`;
}

/** The address of the page of one of them, below `/dashboard`. */
export function messagePath(workspace: string, id: string): string {
  return `${messagesPath(workspace)}/${encodeURIComponent(id)}`;
}
