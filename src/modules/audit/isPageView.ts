import type { AuditEntry } from '../../../projections/auditEntry.ts';

/** Whether a user looked at something on the dashboard: not a change, an export or download, a sign-in, or anything refused. */
export function isPageView({ action = '', principal, code }: AuditEntry): boolean {
  if (principal.type !== 'user' || code !== undefined) return false;
  return /\.(?:read|list|history|readiness|attempts|search)$/.test(action);
}
