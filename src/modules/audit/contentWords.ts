import type { z } from 'zod';
import type { AuditEntry } from '../../../projections/auditAggregation.ts';
import { dataAs, type Position, type RecordedEvent } from '../../domain/events/event.ts';
import { erasureStep } from '../../domain/events/payloads.ts';
import { upcast } from '../../domain/events/upcasting.ts';
import { catalog } from '../../domain/records/catalog.ts';
import type { DocumentUploaded } from '../../domain/records/document.ts';
import { encounter } from '../../domain/records/kinds/encounter.ts';
import { patient } from '../../domain/records/kinds/patient.ts';
import { foundByOf, referenceOf } from '../../domain/records/schema/fields.ts';
import { type CatalogEntry, fieldOrder, nestedIn } from '../../domain/records/schema/kind.ts';

/** The contents of a version in words, without a value except a date of service and the category of a document. */
export interface ContentWords {
  /** What its event said. */
  sent: readonly string[];
  /** What the record held after it. */
  held: readonly string[];
}

interface DescribedVersion {
  version: number;
  position: Position;
  words?: ContentWords | undefined;
  erasedBy?: { position: Position };
}

/** What an access showed, or may have shown: versions of a thing; none when the entry names the thing. */
interface DescribedAccess {
  thing: { kind: string; versions: readonly DescribedVersion[] };
  versions: readonly number[];
}

/** Reads the events of one stream, in order, as words. */
export class ContentReader {
  /** By field. */
  #held = new Map<string, string>();

  /** Returns the words of the next event; undefined for one without contents, such as a tombstone. */
  next(event: RecordedEvent): ContentWords | undefined {
    if (erasureStep(event) === 'done') this.#held.clear();
    const sent = this.#wordsOf(event);
    return sent && { sent: unique(sent), held: unique([...this.#held.values()]) };
  }

  #wordsOf(event: RecordedEvent): string[] | undefined {
    const { type, data } = event;
    const entry = catalog.find(({ eventType }) => eventType === type);
    if (entry?.kind === encounter.kind) return this.#hold('visit', visitWord(upcast(event).data, this.#held));
    if (entry) return this.#fieldWords(entry, upcast(event).data);
    if (type === 'DocumentUploaded') {
      const { category } = dataAs<DocumentUploaded>(data);
      return this.#hold('document', `document: ${category.replaceAll('_', ' ')}`);
    }
    return undefined;
  }

  #hold(field: string, word: string): string[] {
    this.#held.set(field, word);
    return [word];
  }

  #fieldWords(entry: CatalogEntry, fields: Record<string, unknown>): string[] {
    const order = fieldOrder(entry);
    const words = Object.keys(fields)
      .toSorted((a, b) => order(a) - order(b))
      .flatMap((field) => {
        const word = fieldWord(entry, field);
        if (word === undefined) return [];
        if (fields[field] !== null) return this.#hold(field, word);
        this.#held.delete(field);
        return [];
      });
    this.#held = new Map([...this.#held].toSorted(([a], [b]) => order(a) - order(b)));
    return words;
  }
}

function visitWord({ date_of_service: sent }: Record<string, unknown>, held: ReadonlyMap<string, string>) {
  if (typeof sent === 'string') return `${VISIT_OF}${sent.slice(0, 10)}`;
  return (sent === undefined && held.get('visit')) || 'visit without a date';
}

/** Begins the word for a visit, which ends with its day (ISO 8601). */
const VISIT_OF = 'visit of ';

const dayFormat = new Intl.DateTimeFormat('en-US', { dateStyle: 'long', timeZone: 'UTC' });
const monthFormat = new Intl.DateTimeFormat('en-US', { month: 'long', timeZone: 'UTC' });
const listFormat = new Intl.ListFormat('en-US');

const addressPart = /^(?:address_\w+|city|state|zip_code|country)$/;
/** What a field is called where its name does not say so. */
const otherWords: Record<string, string> = { ssn_last4: 'last four digits of the Social Security number' };

/** Returns what a field is about, by its definition; undefined for ids. */
function fieldWord({ schema }: CatalogEntry, field: string): string | undefined {
  const definition = schema.shape[field] as z.ZodType | undefined;
  if (definition === undefined || field === 'id' || referenceOf(definition)) return undefined;
  const nested = nestedIn(definition);
  if (nested) return nested.title.toLowerCase();
  const found = foundByOf(definition);
  if (found === 'name' || found === 'contact') return found;
  if (addressPart.test(field)) return 'address';
  return otherWords[field] ?? field.replaceAll('_', ' ');
}

function unique(words: readonly string[]): string[] {
  return [...new Set(words)];
}

/** Number of words that a description has at most; the others are counted. */
const MOST_WORDS = 30;
/** Number of days of visits that a description names at most; of more, it has the number, the first and the last. */
const MOST_DAYS = 30;

/**
 * Returns in words what an entry disclosed of these things (45 CFR 164.528(b)(2)(iii)), as far as the log still says: of what was
 * erased, only its kind. `name, contact, insurance; visits of May 5, 19, June 2, 2026; document: lab results`.
 */
export function describeContents(entry: AuditEntry, accessed: readonly DescribedAccess[]): string {
  if (entry.action === 'record.disclosures') return 'accounting of disclosures, or access report';
  const kinds = unique(accessed.map(({ thing }) => kindWord(thing.kind))).join(', ');
  if (entry.shown?.view === 'reference') return `notice of a change, without values: ${kinds}`;
  if (entry.shown?.view === 'limited') return `limited data set: ${kinds}`;
  const words = accessed.flatMap((one) => {
    const found = wordsIn(entry, one);
    if (found.length === 0) return [[kindWord(one.thing.kind)]];
    return one.thing.kind === patient.kind ? [found] : found.map((word) => [word]);
  });
  const parts = withDays(unique(words.map((some) => some.join(', '))));
  const more = parts.length - MOST_WORDS;
  return [...parts.slice(0, MOST_WORDS), ...(more > 0 ? [`${more} more`] : [])].join('; ');
}

/** Returns parts of a description, with one for the days of all visits in place of the first. */
function withDays(parts: readonly string[]): string[] {
  const isDay = (part: string) => part.startsWith(VISIT_OF);
  const days = parts.filter(isDay).map((part) => part.slice(VISIT_OF.length));
  const first = parts.findIndex(isDay);
  return parts.flatMap((part, at) =>
    at === first ? [daysText(days.toSorted())] : isDay(part) ? [] : [part],
  );
}

/** `days`: ISO 8601, in order. */
function daysText(days: readonly string[]): string {
  const [first = '', last = ''] = [days[0], days.at(-1)];
  if (days.length === 1) return `${VISIT_OF}${dayText(first)}`;
  if (days.length > MOST_DAYS)
    return `visits on ${days.length.toLocaleString('en-US')} days from ${dayText(first)} to ${dayText(last)}`;
  const years = [...Map.groupBy(days, (day) => day.slice(0, 4))].map(([year, ofYear]) => {
    const months = [...Map.groupBy(ofYear, (day) => monthFormat.format(Date.parse(day)))];
    const named = months.map(
      ([month, own]) => `${month} ${own.map((day) => Number(day.slice(8))).join(', ')}`,
    );
    return `${named.join(', ')}, ${year}`;
  });
  return `visits of ${listFormat.format(years)}`;
}

function dayText(day: string): string {
  return dayFormat.format(Date.parse(day));
}

function wordsIn(entry: AuditEntry, { thing, versions }: DescribedAccess): string[] {
  const { action, query = {}, position } = entry;
  if (versions.length > 0) {
    const sent = new Set(versions);
    return wordsOf(thing.versions.filter(({ version }) => sent.has(version)));
  }
  const before = thing.versions.filter(
    (one) => one.position < position && !(one.erasedBy !== undefined && one.erasedBy.position < position),
  );
  // Shows earlier versions, or one of them.
  const isPast = action?.endsWith('.history') || query.version !== undefined || query.as_of !== undefined;
  return isPast ? wordsOf(before) : [...(before.findLast(({ words }) => words)?.words?.held ?? [])];
}

function wordsOf(versions: readonly DescribedVersion[]): string[] {
  return unique(versions.flatMap(({ words }) => words?.sent ?? []));
}

function kindWord(kind: string): string {
  if (kind === encounter.kind) return 'visit';
  if (kind === 'readiness') return 'billing of a visit';
  return kind === 'document' ? kind : `${kind} record`;
}
