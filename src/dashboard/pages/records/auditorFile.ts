import { type CatalogEntry, recordName } from '../../../domain/records/schema/kind.ts';
import type { RecordView } from '../../../modules/records/queries/records.ts';
import { csvLine } from '../../../platform/csv.ts';

import { type Html, html, type Visit, viewerPreferences, zonedTime } from '../../components/page.ts';
import { definitionList } from '../../components/tables.ts';

import { bdi, code, day, time } from '../../components/text.ts';

/** What the top of something that is handed to an auditor says. */
interface Handed {
  title: string;
  entry: CatalogEntry;
  /** Undefined for an erased record, whose name is gone. */
  view: RecordView | undefined;
  /** Needed where there is no view. */
  id?: string;
  /** The period, and whatever else limits it. */
  rows: readonly (readonly [name: string, value: string])[];
}

/** Returns a period in words, by its bounds (ISO 8601): as they are sent for a file, as people write them for paper. */
export function periodWords(
  { from, to }: { from?: string | undefined; to?: string | undefined },
  isForFile: boolean,
): string {
  const { timeZone = 'UTC' } = viewerPreferences();
  const words = (moment: string) => (isForFile ? moment : zonedTime(moment, timeZone));
  return `${from ? `from ${words(from)}` : 'from the beginning'}${to ? `, before ${words(to)}` : ' until now'}`;
}

/** Returns the first lines of a CSV file: what it is, whose, which period, and by whom; then an empty one. */
export function fileHeader(
  { workspace, user, requestId }: Visit,
  { title, entry, view, id, rows }: Handed,
): string {
  const born = view?.record.date_of_birth;
  const lines: (readonly [string, string])[] = [
    ['Report', title],
    [entry.title, (view && recordName(view.record)) ?? ''],
    [`${entry.title} ID`, view?.id ?? id ?? ''],
    ...(typeof born === 'string' ? [['Date of birth', born] as const] : []),
    ['Workspace', workspace],
    ...rows,
    ['Exported at', new Date().toISOString()],
    ['Exported by', user.name],
    ['Request', requestId],
  ];
  return `${lines.map((line) => csvLine(line)).join('')}${csvLine([])}`;
}

/** The same for paper, with the way back (below `/dashboard`), which is not printed. */
export function paperHead(
  { workspace, user, requestId }: Visit,
  { title, entry, view, id, rows, back }: Handed & { back: string },
): Html {
  const born = view?.record.date_of_birth;
  const name = view && recordName(view.record);
  return html`<p class="actions"><a role="button" class="outline secondary" href="/dashboard${back}">Back</a>
<button type="button" data-print hidden>Print or save as PDF</button></p>
<h1>${title}</h1>
${definitionList([
  ...(name === undefined ? [] : [[entry.title, bdi(name)] as const]),
  [`${entry.title} ID`, code(view?.id ?? id ?? '')],
  ...(typeof born === 'string' ? [['Date of birth', day(born)] as const] : []),
  ['Workspace', code(workspace)],
  ...rows.map(([one, text]) => [one, bdi(text)] as const),
  ['Printed', html`${time(new Date().toISOString())} by ${bdi(user.name)}, request ${code(requestId)}`],
])}`;
}
