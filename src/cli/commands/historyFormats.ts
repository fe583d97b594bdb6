import type { DocumentVersion } from '../../modules/records/queries/documentHistory.ts';
import type { RecordVersion } from '../../modules/records/queries/recordHistory.ts';
import { csvLine } from '../../platform/csv.ts';
import { fittingLine as line, printable } from '../lib/output.ts';

export type Version = RecordVersion | DocumentVersion;

/** How a history is printed: the text at its beginning, for each version, newest first, and at its end. */
export interface HistoryFormat {
  begin: string;
  version(version: Version, isFirst: boolean): string;
  end: string;
  /** Formats one state, by field name. */
  state(fields: Map<string, unknown>, whole: object): string;
}

const NAME_WIDTH = 24;
const INDENT = ' '.repeat(9);
function columns(version: string, at: string, what: string, by: string, from: string): string {
  const name = printable(by, NAME_WIDTH).padEnd(NAME_WIDTH);
  return line([version.padEnd(7), at.padEnd(24), what.padEnd(9), name, from].join('  '));
}

function tableVersion(version: Version): string {
  const { recorded_at, principal, client_ip } = version;
  const by = principal.name ?? principal.id;
  const head = (what: string) =>
    columns(String(version.version), recorded_at, what, by, client_ip ?? principal.type);
  const erased =
    version.reason === undefined ? '' : line(`${INDENT}reason: ${JSON.stringify(version.reason)}`);
  if ('changes' in version) {
    const changes = version.changes.map(({ field, from, to }) =>
      line(`${INDENT}${field}: ${JSON.stringify(from)} → ${JSON.stringify(to)}`),
    );
    return head(version.outcome) + erased + changes.join('');
  }
  if (version.type === 'DocumentErased') return head('erased') + erased;
  if (version.sha256 === null) return head('removed');
  const { category, filename, size, sha256, content_available } = version;
  const kept = content_available ? 'kept' : 'no longer kept';
  const file = `${category}, ${JSON.stringify(filename)}, ${size} bytes, ${kept}`;
  return head('uploaded') + line(INDENT + file) + line(`${INDENT}sha256 ${sha256}`);
}

const table: HistoryFormat = {
  begin: columns('VERSION', 'RECORDED AT', 'OUTCOME', 'BY', 'FROM'),
  version: tableVersion,
  end: '',
  state(fields) {
    const width = Math.max(...[...fields.keys()].map((name) => name.length));
    const rows = [...fields].map(([name, value]) => line(`${name.padEnd(width)}  ${JSON.stringify(value)}`));
    return rows.join('');
  },
};

const json: HistoryFormat = {
  begin: '[',
  version: (version, isFirst) => `${isFirst ? '' : ','}\n  ${JSON.stringify(version)}`,
  end: '\n]\n',
  state: (_, whole) => `${JSON.stringify(whole, undefined, 2)}\n`,
};

/** Returns a line of CSV; a missing value is an empty cell. */
function row(cells: unknown[]): string {
  return csvLine(
    cells.map((value) =>
      typeof value === 'boolean' ? String(value) : ((value as string | number | null) ?? undefined),
    ),
  );
}

const who = [
  ...['version', 'event_id', 'type', 'recorded_at', 'principal_type', 'principal_id', 'principal_name'],
  ...['client_ip', 'user_agent', 'request_id'],
];
const change = ['outcome', 'field', 'from', 'to'];
const file = ['category', 'filename', 'content_type', 'size', 'sha256', 'content_available'] as const;

function csvVersion(version: Version): string {
  const { type, id, name } = version.principal;
  const { event_id, recorded_at, client_ip, user_agent, request_id, reason } = version;
  const own = [version.version, event_id, version.type, recorded_at, type, id, name];
  const cells = [...own, client_ip, user_agent, request_id];
  if (!('changes' in version)) return row([...cells, ...file.map((column) => version[column]), reason]);
  if (version.changes.length === 0) return row([...cells, version.outcome, null, null, null, reason]);
  const rows = version.changes.map(({ field, from, to }) =>
    row([...cells, version.outcome, field, from, to, reason]),
  );
  return rows.join('');
}

function csv(isDocument: boolean): HistoryFormat {
  return {
    begin: row([...who, ...(isDocument ? file : change), 'reason']),
    version: csvVersion,
    end: '',
    state: (fields) => row([...fields.keys()]) + row([...fields.values()]),
  };
}

export const formatNames = ['table', 'json', 'csv'] as const;

/** Returns the format with a name, for documents or for records. */
export function historyFormat(name: (typeof formatNames)[number], isDocument: boolean): HistoryFormat {
  if (name === 'csv') return csv(isDocument);
  return name === 'json' ? json : table;
}
