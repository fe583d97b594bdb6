import { Argument, type Command, Option } from 'commander';
import { catalog, catalogEntry } from '../../domain/records/catalog.ts';
import { dottedFields } from '../../domain/records/diff.ts';
import { viewDocument } from '../../domain/records/document.ts';
import { instantOf } from '../../domain/records/schema/instantOf.ts';
import { type AccessRecorded, recordAccess } from '../../modules/audit/recordAccess.ts';
import { readDocumentAt, readDocumentHistory } from '../../modules/records/queries/documentHistory.ts';
import type { Page, PageRequest } from '../../modules/records/queries/page.ts';
import { readRecordAt, readRecordHistory } from '../../modules/records/queries/recordHistory.ts';
import type { Moment } from '../../modules/records/queries/stateAt.ts';
import { type WorkspaceTools, withDocumentStore, withWorkspace } from '../../server/withStores.ts';
import { example, print } from '../lib/output.ts';
import { parseMoment } from '../lib/parseMoment.ts';
import { parsePositive } from '../lib/parsePositive.ts';
import { formatNames, type HistoryFormat, historyFormat, type Version } from './historyFormats.ts';

/** Number of versions read at a time. */
const PAGE = 1000;

interface HistoryOptions {
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
      const whole = await readRecordAt(eventLog, workspace, entry, id, moment);
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
  const { workspace, encounter = '', asOf, limit } = options;
  const isDocument = kind === 'document';
  if (isDocument && encounter === '')
    command.error('error: specify the encounter of the document with --encounter');
  if (!isDocument && encounter !== '') command.error('error: --encounter is only for the kind document');
  const format = historyFormat(options.format, isDocument);
  await withWorkspace(workspace, async (tools) => {
    const subject = isDocument ? documentSubject(tools, encounter, id) : recordSubject(tools, kind, id);
    const audit = async (access: AccessRecorded, query: Record<string, unknown>) => {
      await recordAccess(tools.eventLog, tools.caller, { ...access, query });
    };
    if (asOf === undefined) {
      const pages = pagesOf(subject, limit ?? Number.POSITIVE_INFINITY);
      await print(historyText(pages, format, () => audit(subject.history, { limit })));
      return;
    }
    const { fields, whole } = await subject.readAt({ asOf: instantOf(asOf) });
    await audit(subject.reading, { as_of: asOf });
    await print([format.state(fields, whole)]);
  });
}

/** `chartledger history` */
export function addHistoryCommand(program: Command): void {
  program
    .command('history')
    .description(
      'Show every version of a record or document, newest first: who sent it, when, from where, and what ' +
        'it changed. The audit trail records that the history was read, and by whom.',
    )
    .addArgument(
      new Argument('<kind>', 'kind of the record').choices([...catalog.map(({ kind }) => kind), 'document']),
    )
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
    )
    .addOption(
      new Option(
        '--format <format>',
        'table, cut to the width of the terminal; json, one array; csv, one line per change, where a cell ' +
          'that a spreadsheet would interpret as a formula (starting with =, +, -, @ or a tab) has an ' +
          'apostrophe in front',
      )
        .choices(formatNames)
        .default('table'),
    )
    .addHelpText(
      'after',
      example(
        'chartledger history patient patient-1001 --workspace clinic',
        'chartledger history patient patient-1001 --workspace clinic --as-of 2026-03-14T12:00:00Z --format json',
        'chartledger history document document-5001 --encounter encounter-4001 --workspace clinic --format csv',
      ),
    )
    .action(showHistory);
}
