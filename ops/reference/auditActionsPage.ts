import { actionText } from '../../src/dashboard/pages/auditTable.ts';
import { eventTypes } from '../../src/domain/events/upcasting.ts';
import { catalog } from '../../src/domain/records/catalog.ts';
import { accessActions } from '../../src/modules/audit/recordAccess.ts';

import { code, page, table } from './markdown.ts';

/** `docs/reference/audit-actions.md` */
export function auditActionsPage(): string {
  const ofRecords = catalog.map(({ eventType }) => eventType);
  const changes = [...new Set([...ofRecords, ...eventTypes()])].filter((type) => type !== 'AccessRecorded');
  return page(
    'Audit actions',
    'What an entry of the audit trail can be. [Answer an auditor](../guides/answer-an-auditor.md) shows how to search it.',
    '## Accesses',
    'Entries of the type `AccessRecorded`, by their `action`: reads of protected data, refused requests, sign-ins.',
    table(
      ['action', 'on the dashboard'],
      accessActions.map((action) => [code(action), actionText(action)]),
    ),
    '## Changes',
    'Entries that are themselves the event of a change, by their `type`.',
    table(
      ['type', 'on the dashboard'],
      changes.map((type) => [code(type), actionText(type)]),
    ),
  );
}
