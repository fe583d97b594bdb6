import { type Command, Option } from 'commander';
import { catalogEntry } from '../../domain/records/catalog.ts';
import { viewDocument } from '../../domain/records/document.ts';
import { dottedFields } from '../../domain/records/fold.ts';
import { instantOf } from '../../domain/records/schema/isoDates.ts';
import { type AccessRecorded, recordAccess } from '../../modules/audit/recordAccess.ts';
import {
  type DocumentVersion,
  readDocumentAt,
  readDocumentHistory,
} from '../../modules/records/queries/documents.ts';
import {
  type Moment,
  type RecordVersion,
  readRecordAt,
  readRecordHistory,
} from '../../modules/records/queries/history.ts';
import type { Page, PageRequest } from '../../modules/records/queries/paging.ts';
import { csvLine } from '../../platform/csv.ts';
import {
  type WorkspaceTools,
  withCurrentModels,
  withDocumentStore,
  withWorkspace,
} from '../../server/stores.ts';
import { addFormatOptions, kindArgument, parseMoment, parsePositive } from '../lib/options.ts';
import { addOutOptions, type OutOptions, requireOut, writeReport } from '../lib/reportFile.ts';
import { example, fittingLine as line, print, printable } from '../lib/terminal.ts';

type Version = RecordVersion | DocumentVersion;

/** How a history is printed: the text at its beginning, for each version, newest first, and at its end. */
interface HistoryFormat {
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

const formatNames = ['table', 'json', 'csv'] as const;

/** Returns the format with a name, for documents or for records. */
function historyFormat(name: (typeof formatNames)[number], isDocument: boolean): HistoryFormat {
  if (name === 'csv') return csv(isDocument);
  return name === 'json' ? json : table;
}

/** Number of versions read at a time. */
const PAGE = 1000;

interface HistoryOptions extends OutOptions {
  workspace: string;
  encounter?: string;
  asOf?: string;
  limit?: number;
  format: (typeof formatNames)[number];
}

/** What the history is about. */
interface Subject {
  readPage(request: PageRequest): Promise<Page<Version>>;
  /** Returns its fields by name at a moment, and all of it as in the API. */
  readAt(moment: Moment): Promise<{ fields: Map<string, unknown>; whole: object }>;
  /** The audit trail entries for the former and the latter. */
  history: AccessRecorded;
  reading: AccessRecorded;
}

function recordSubject({ eventLog, names, caller }: WorkspaceTools, kind: string, id: string): Subject {
  const { workspace } = caller;
  const entry = catalogEntry(kind);
  const record = { kind, record_id: id };
  return {
    readPage: (request) => readRecordHistory({ eventLog, names }, workspace, entry, id, request),
    async readAt(moment) {
      const whole = await readRecordAt({ eventLog }, workspace, entry, id, moment);
      const { version, created_at, updated_at, record } = whole;
      const times = Object.entries({ version, created_at, updated_at });
      return { fields: new Map<string, unknown>([...times, ...dottedFields(record)]), whole };
    },
    history: { action: 'record.history', ...record },
    reading: { action: 'record.read', ...record },
  };
}

function documentSubject(tools: WorkspaceTools, encounterId: string, documentId: string): Subject {
  const { eventLog, names, caller } = tools;
  const name = { workspace: caller.workspace, encounterId, documentId };
  // Its bytes are not read here, so this is not a download either.
  const history: AccessRecorded = {
    action: 'document.history',
    kind: 'document',
    record_id: encounterId,
    document_id: documentId,
  };
  return {
    readPage: (request) =>
      withDocumentStore((documentStore) =>
        readDocumentHistory({ eventLog, names, documentStore }, name, request),
      ),
    async readAt(moment) {
      const whole = viewDocument(await readDocumentAt(eventLog, name, moment));
      return { fields: new Map(Object.entries(whole)), whole };
    },
    history,
    reading: history,
  };
}

/** Yields the versions one page at a time, newest first, at most `limit`. */
async function* pagesOf({ readPage }: Subject, limit: number): AsyncGenerator<Version[]> {
  let pageToken: string | undefined;
  for (let left = limit; left > 0; ) {
    const { items, next_page_token } = await readPage({ limit: Math.min(left, PAGE), pageToken });
    yield items;
    left -= items.length;
    if (next_page_token === null) return;
    pageToken = next_page_token;
  }
}

/** Yields the text of the history. `onFound` is awaited once it is known to exist, before anything is returned. */
async function* historyText(
  pages: AsyncIterable<Version[]>,
  format: HistoryFormat,
  onFound: () => Promise<void>,
): AsyncGenerator<string> {
  let isFirst = true;
  for await (const versions of pages) {
    if (isFirst) {
      await onFound();
      yield format.begin;
    }
    for (const version of versions) {
      yield format.version(version, isFirst);
      isFirst = false;
    }
  }
  yield format.end;
}

async function showHistory(
  kind: string,
  id: string,
  options: HistoryOptions,
  command: Command,
): Promise<void> {
  const { workspace, encounter = '', asOf, limit, out } = options;
  const isDocument = kind === 'document';
  if (isDocument && encounter === '')
    command.error('error: specify the encounter of the document with --encounter');
  if (!isDocument && encounter !== '') command.error('error: --encounter is only for the kind document');
  const format = historyFormat(options.format, isDocument);
  await requireOut(options, command);
  await withWorkspace(workspace, async (tools) => {
    const { eventLog, caller } = tools;
    const subject = isDocument ? documentSubject(tools, encounter, id) : recordSubject(tools, kind, id);
    const audit = async (access: AccessRecorded, query: Record<string, unknown>) => {
      await recordAccess(eventLog, caller, { ...access, query });
    };
    const deliver = (texts: AsyncIterable<string> | string[], query: Record<string, unknown>) => {
      if (out === undefined) return print(texts);
      const { kind, record_id, document_id } = subject.reading;
      const asked = { kind, record_id, document_id, ...query, format: options.format };
      return withCurrentModels(eventLog, (readModels) =>
        writeReport({ eventLog, readModels }, { workspace, report: 'history', query: asked }, out, texts),
      );
    };
    if (asOf === undefined) {
      const pages = pagesOf(subject, limit ?? Number.POSITIVE_INFINITY);
      return deliver(
        historyText(pages, format, () => audit(subject.history, { limit })),
        { limit },
      );
    }
    const { fields, whole } = await subject.readAt({ asOf: instantOf(asOf) });
    await audit(subject.reading, { as_of: asOf });
    await deliver([format.state(fields, whole)], { as_of: asOf });
  });
}

/** `chartledger records history` */
export function addHistoryCommand(records: Command): void {
  const command = records
    .command('history')
    .description(
      'Show every version of a record or document, newest first: who sent it, when, from where, and what ' +
        'it changed. The audit trail records that the history was read, and by whom.',
    )
    .addArgument(kindArgument('<kind>', undefined, 'document'))
    .argument('<id>', 'the id that the record was sent with')
    .requiredOption('--workspace <id>', 'the workspace of the record')
    .option('--encounter <id>', 'the encounter of a document')
    .option(
      '--as-of <time>',
      'show the record as of this time: an ISO 8601 date-time, in UTC unless it has an offset, or a date, ' +
        'which means its first moment',
      parseMoment,
    )
    .addOption(
      new Option('--limit <n>', 'only the newest n versions (default: all)')
        .argParser(parsePositive)
        .conflicts('asOf'),
    );
  addFormatOptions(
    addOutOptions(command),
    formatNames,
    'table, cut to the width of the terminal; json, one array; csv, one line per change, where a cell that a spreadsheet ' +
      'would interpret as a formula (starting with =, +, -, @ or a tab) has an apostrophe in front',
    'table',
  )
    .addHelpText(
      'after',
      example(
        'chartledger records history patient patient-1001 --workspace clinic',
        'chartledger records history patient patient-1001 --workspace clinic --as-of 2026-03-14T12:00:00Z --format json',
        'chartledger records history document document-5001 --encounter encounter-4001 --workspace clinic --format csv',
      ),
    )
    .action(showHistory);
}
