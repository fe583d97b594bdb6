import type { AuditEntry } from '../../../projections/auditEntry.ts';
import type { Principal } from '../../domain/events/eventMetadata.ts';
import { auditHeader, auditLine, outcomeOf, queryText } from '../../modules/integrity/auditLines.ts';
import { fittingLine, printable } from '../lib/output.ts';

/** How an audit trail is printed: the text at its beginning, for each entry, newest first, and at its end. */
interface AuditFormat {
  begin: string;
  entry(entry: AuditEntry, nameOf: (principal: Principal) => string | undefined, isFirst: boolean): string;
  end: string;
}

const WHO_WIDTH = 24;
const ACTION_WIDTH = 20;

function columns(time: string, who: string, action: string, outcome: string, ...others: string[]): string {
  const name = printable(who, WHO_WIDTH).padEnd(WHO_WIDTH);
  const cells = [time.padEnd(24), name, action.padEnd(ACTION_WIDTH), outcome.padEnd(8), ...others];
  return fittingLine(cells.join('  '));
}

/** Returns what an entry is about, and what was requested: `patient patient-1001`, `document encounter-4001/document-5001`. */
function subjectOf({ kind, id, documentId, version, query = {} }: AuditEntry): string {
  const name = [id, documentId].filter((part) => part !== undefined).join('/');
  const ofVersion = version === undefined ? '' : `version ${version}`;
  return [kind, name, ofVersion, queryText(query)].filter(Boolean).join(' ') || '-';
}

const table: AuditFormat = {
  begin: columns('TIME', 'WHO', 'ACTION', 'OUTCOME', 'FROM', 'ON'),
  entry(entry, nameOf) {
    const { recordedAt, principal, action, type, clientIp } = entry;
    const who = nameOf(principal) ?? principal.id;
    return columns(
      recordedAt,
      who,
      action ?? type,
      outcomeOf(entry),
      clientIp ?? principal.type,
      subjectOf(entry),
    );
  },
  end: '',
};

const csv: AuditFormat = {
  begin: auditHeader('csv'),
  entry: (entry, nameOf) => auditLine(entry, 'csv', nameOf),
  end: '',
};

const json: AuditFormat = {
  begin: '[',
  entry: (entry, nameOf, isFirst) =>
    `${isFirst ? '' : ','}\n  ${auditLine(entry, 'ndjson', nameOf).trimEnd()}`,
  end: '\n]\n',
};

/** The formats by name. */
export const auditFormats = { table, json, csv };
