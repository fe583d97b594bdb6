import type { ExpiredRecord } from '../../modules/erasure/findExpired.ts';
import { csvLine } from '../../platform/csv.ts';
import { count } from '../lib/output.ts';

export const retentionFormats = ['table', 'json', 'csv'] as const;
export type RetentionFormat = (typeof retentionFormats)[number];

/** The number of records listed, by state, and of encounters that go with those due for erasure. */
export type ListedCounts = Record<ExpiredRecord['state'], number> & { encounters: number };

/** Lines of a listing that is written as results arrive. */
interface Listing {
  /** Before the first record. */
  begin(policy: string): string;
  record(record: ExpiredRecord, isFirst: boolean): string;
  end(counts: ListedCounts): string;
}

const columns = ['KIND', 'STATE', 'LAST CHANGE', 'LAST ENCOUNTER', 'ENCOUNTERS', 'ID'];
const widths = [12, 12, 12, 15, 11, 0];

export const stateTexts: Record<ExpiredRecord['state'], string> = {
  due: 'due',
  held: 'held',
  referred_to: 'referred to',
};

const line = (cells: string[]) => cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('');

/** Returns a record's form in JSON and CSV. */
function viewOf({ kind, id, state, changedAt, serviceAt, encounters }: ExpiredRecord) {
  return { kind, id, state, last_change: changedAt, last_encounter: serviceAt ?? null, encounters };
}

export const listings: Record<RetentionFormat, Listing> = {
  table: {
    begin: (policy) => `${policy}\n\n${line(columns)}\n`,
    record: ({ kind, id, state, changedAt, serviceAt, encounters }) => {
      const cells = [changedAt.slice(0, 10), serviceAt?.slice(0, 10) ?? '-', count(encounters)];
      return `${line([kind, stateTexts[state], ...cells, id])}\n`;
    },
    end: ({ due, held, referred_to, encounters }) =>
      `\nDue: ${count(due)}. Encounters that go with patients: ${count(encounters)}. Under legal hold: ${count(held)}. ` +
      `Still referred to: ${count(referred_to)}.\n`,
  },
  json: {
    begin: () => '[',
    record: (record, isFirst) => `${isFirst ? '' : ','}\n  ${JSON.stringify(viewOf(record))}`,
    end: () => '\n]\n',
  },
  csv: {
    begin: () => csvLine(['kind', 'id', 'state', 'last_change', 'last_encounter', 'encounters']),
    record: (record) => csvLine(Object.values(viewOf(record)).map((value) => String(value ?? ''))),
    end: () => '',
  },
};
