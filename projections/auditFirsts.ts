import type { AuditEntry } from './auditEntry.ts';

/** The steps by which a workspace comes into use, in order. */
export const firstSteps = ['key', 'record', 'events', 'webhook'] as const;
export type FirstStep = (typeof firstSteps)[number];

/** When each was first done, ISO 8601, UTC; absent if it was not. */
export type AuditFirsts = Partial<Record<FirstStep, string>>;

const isDone: Record<FirstStep, (entry: AuditEntry) => boolean> = {
  key: ({ type }) => type === 'ApiKeyCreated',
  record: ({ version }) => version !== undefined,
  events: ({ action, principal, code }) =>
    (action === 'events.read' || action === 'events.subscribe') &&
    principal.type === 'api_key' &&
    code === undefined,
  webhook: ({ type }) => type === 'WebhookCreated',
};

/** Returns when each step was first done, after these entries. */
export function addFirsts(before: AuditFirsts, entries: readonly AuditEntry[]): AuditFirsts {
  const firsts = { ...before };
  for (const step of firstSteps) {
    const first = firsts[step] ?? entries.find((entry) => isDone[step](entry))?.recordedAt;
    if (first !== undefined) firsts[step] = first;
  }
  return firsts;
}
