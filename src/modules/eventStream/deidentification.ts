import { createHmac, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { catalog } from '../../domain/records/catalog.ts';
import { documentFieldsSchema, documentFormats } from '../../domain/records/document.ts';
import {
  type DeidentifyContext,
  type FieldRules,
  hashed,
  listed,
  type NarrowedView,
  showFields,
  shownNames,
} from '../../domain/records/schema/deidentification.ts';
import { type CloudEvent, feedEventTypes, readinessRules, type StreamedEventType } from './cloudEvents.ts';

const documentRules: FieldRules = {
  encounter_id: hashed('encounter'),
  document_id: hashed('document'),
  category: listed(documentFieldsSchema.shape.category),
  filename: 'left out',
  format: listed(z.enum(Object.keys(documentFormats))),
  size: 'left out',
  sha256: 'left out',
  object_id: 'left out',
};

const rulesByKind = (view: NarrowedView) =>
  new Map<string, FieldRules>([
    ...catalog.map((entry) => [entry.kind, entry[view]] as const),
    ['document', documentRules],
  ]);
const rulesIn = { limited: rulesByKind('limited'), deidentified: rulesByKind('deidentified') };

/** What distinguishes events. */
type EventKind = Pick<StreamedEventType, 'kind' | 'logType'>;

/** Returns which fields of events a view shows: the same for all events of a kind, except those of readiness. */
export function shownFields(view: NarrowedView, { kind, logType }: EventKind): FieldRules {
  return (readinessRules.get(logType) ?? rulesIn[view].get(kind)) as FieldRules;
}

/** Returns the names of the event fields that a view shows; dotted for those of an insurance. */
export function shownFieldNames(view: NarrowedView, event: EventKind): string[] {
  return shownNames(shownFields(view, event));
}

/** Returns an event of a workspace as the de-identified view shows it. Pure: equal events give equal results, also in replays. */
export type Deidentifier = (workspace: string, event: CloudEvent) => CloudEvent;

/** The key for the hashes. */
export interface PseudonymKey {
  /** At least 32 bytes. */
  key: Uint8Array;
  /** The key's number, counted from the first: 1, 2, 3 … Hashes of different epochs are unrelated. */
  epoch: number;
}

/** Part of the derivation of the keys of hashes. */
const purposeOf: Record<NarrowedView, string> = {
  limited: 'limited data set',
  deidentified: 'deidentification',
};

const MIN_SECRET_BYTES = 32;
/** 132 bits. */
const PSEUDONYM_LENGTH = 22;
/** Events refer to the same few providers, payers and patients again and again. */
const CACHED_PSEUDONYMS = 20_000;

const byType = new Map<string, StreamedEventType>(feedEventTypes.map((one) => [one.type, one]));
const namesByType = (view: NarrowedView) =>
  new Map(feedEventTypes.map((one) => [one.type, new Set(shownFieldNames(view, one))]));
const namesIn = { limited: namesByType('limited'), deidentified: namesByType('deidentified') };

/** Returns the name of the JSON Schema for the `data` of a type in a view. */
export function narrowedSchemaName(view: NarrowedView, type: string): string {
  return `${type}.${view}`;
}

/**
 * De-identifies according to HIPAA's Safe Harbor (45 CFR 164.514(b)(2)), or makes a limited data set (164.514(e)): of the data,
 * shows only what `shownFields` permits, every id as a keyed hash, and in the first case every date and the event's own time
 * reduced to the year. Each workspace's hashes have their own key, derived from the key and another one in each view, so they join
 * within a workspace and view and nowhere else; from the second epoch on, each event names the epoch.
 */
export function createDeidentifier(
  { key: secret, epoch }: PseudonymKey,
  view: NarrowedView = 'deidentified',
): Deidentifier {
  if (secret.length < MIN_SECRET_BYTES) {
    throw new Error(`the key of the de-identified view must have at least ${MIN_SECRET_BYTES} bytes`);
  }
  const keys = new Map<string, KeyObject>();
  const keyOf = (workspace: string): KeyObject => {
    let key = keys.get(workspace);
    if (key === undefined) {
      const bytes = hkdfSync('sha256', secret, '', `chartledger ${purposeOf[view]} ${workspace}`, 32);
      key = createSecretKey(Buffer.from(bytes));
      keys.set(workspace, key);
    }
    return key;
  };
  const known = new LRUCache<string, string>({ max: CACHED_PSEUDONYMS });
  return (workspace, event) =>
    narrow(view, event, workspace, epoch, (kind, id) => {
      const name = `${workspace}\0${kind}\0${id}`;
      let pseudonym = known.get(name);
      if (pseudonym === undefined) {
        pseudonym = pseudonymOf(keyOf(workspace), kind, id);
        known.set(name, pseudonym);
      }
      return pseudonym;
    });
}

/** Ids contain no control characters, so the NUL between kind and id keeps all pairs distinct. */
function pseudonymOf(key: KeyObject, kind: string, id: string): string {
  const digest = createHmac('sha256', key).update(`${kind}\0${id}`).digest('base64url');
  return digest.slice(0, PSEUDONYM_LENGTH);
}

/** Returns what the de-identified view shows of a time (ISO 8601): the beginning of its year. */
export function beginningOfYear(time: string): string {
  return `${time.slice(0, 4)}-01-01T00:00:00.000Z`;
}

type Pseudonym = (kind: string, id: string) => string;

function narrow(
  view: NarrowedView,
  event: CloudEvent,
  workspace: string,
  epoch: number,
  pseudonym: Pseudonym,
): CloudEvent {
  const feedType = byType.get(event.type);
  if (feedType === undefined) throw new Error('not an event of the stream');
  const context: DeidentifyContext = { year: Number(event.time.slice(0, 4)), pseudonym };
  const names = namesIn[view].get(event.type);
  return {
    specversion: '1.0',
    id: pseudonym('event', event.id),
    source: `/workspaces/${pseudonym('workspace', workspace)}`,
    type: event.type,
    subject: subjectOf(feedType.kind, event.subject, pseudonym),
    time: view === 'limited' ? event.time : beginningOfYear(event.time),
    datacontenttype: 'application/json',
    ...(event.dataschema !== undefined && {
      dataschema: event.dataschema.replace(/[^/]*$/, narrowedSchemaName(view, event.type)),
    }),
    sequence: event.sequence,
    ...(epoch > 1 && { pseudonymepoch: epoch }),
    data: {
      version: event.data.version,
      sent: showFields(shownFields(view, feedType), event.data.sent, context),
      changed: event.data.changed.filter((field) => names?.has(field)),
    },
  };
}

function subjectOf(kind: string, subject: string, pseudonym: Pseudonym): string {
  const ids = subject.split('/').slice(1).map(decodeURIComponent);
  const [outer, inner] = ids;
  // The workspace's own.
  if (outer === undefined) return kind;
  if (kind === 'readiness') return `readiness/${pseudonym('encounter', outer)}`;
  if (kind !== 'document' || inner === undefined) return `${kind}/${pseudonym(kind, outer)}`;
  return `document/${pseudonym('encounter', outer)}/${pseudonym('document', inner)}`;
}
