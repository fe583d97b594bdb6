/** The menu's entry. */
export const eventsSection = 'Events';

/** Returns the address of a workspace's newest events, below `/dashboard`; `limits` are its query parameters. */
export function eventsPath(workspace: string, limits: Record<string, string | undefined> = {}): string {
  return `/workspaces/${workspace}/events${queryOf(limits)}`;
}

/** Returns the address of the events after a position, as a part of that page, below `/dashboard`. */
export function newsPath(workspace: string, kind: string | undefined, after: string): string {
  return `/workspaces/${workspace}/events/news${queryOf({ kind, after })}`;
}

function queryOf(limits: Record<string, string | undefined>): string {
  const sent = Object.entries(limits).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return sent.length === 0 ? '' : `?${new URLSearchParams(sent).toString()}`;
}
