import type { AuditEntry } from '../../../projections/auditEntry.ts';
import { isPageView } from '../../modules/audit/isPageView.ts';

/** A row of the trail's page: an entry, and the other entries made by the same page view. */
export interface AuditRow {
  entry: AuditEntry;
  others: readonly AuditEntry[];
}

/**
 * Returns entries as rows, in order. What one view of a dashboard page showed is one row, at the place of its newest
 * entry; it begins with the entry that has the request's id, if that is among them.
 */
export function auditRows(entries: readonly AuditEntry[]): AuditRow[] {
  const views = Map.groupBy(entries.filter(isPageView), requestOf);
  const shown = new Set<string>();
  return entries.flatMap((entry) => {
    if (!isPageView(entry)) return { entry, others: [] };
    const request = requestOf(entry);
    if (shown.has(request)) return [];
    shown.add(request);
    const view = views.get(request) ?? [];
    const main = view.find(({ eventId }) => eventId === request) ?? entry;
    return { entry: main, others: view.filter((one) => one !== main) };
  });
}

function requestOf({ requestId, eventId }: AuditEntry): string {
  return requestId ?? eventId;
}
