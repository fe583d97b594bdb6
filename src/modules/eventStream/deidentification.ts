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
import { type DeidentificationSettings, methodOf, safeHarbor } from './deidentificationSettings.ts';

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

/**
 * Returns an event of a workspace as the view shows it, by the settings in force when it was recorded; `record` has all fields of the record
 * after the event, of which it may have sent only some. Pure: equal arguments give equal results, also in replays.
 */
export type Deidentifier = (
  workspace: string,
  event: CloudEvent,
  settings?: DeidentificationSettings,
  record?: Readonly<Record<string, unknown>>,
) => CloudEvent;

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
const namesByType = (view: NarrowedView, hasZipAreas: boolean) =>
  new Map(
    feedEventTypes.map(
      (one) => [one.type, new Set(shownNames(shownFields(view, one), hasZipAreas))] as const,
    ),
  );
const namesIn = {
  limited: namesByType('limited', true),
  deidentified: namesByType('deidentified', true),
  withoutZipAreas: namesByType('deidentified', false),
};

/** Returns the name of the JSON Schema for the `data` of a type in a view. */
export function narrowedSchemaName(view: NarrowedView, type: string): string {
  return `${type}.${view}`;
}

/**
 * De-identifies according to HIPAA's Safe Harbor (45 CFR 164.514(b)(2)), or makes a limited data set (164.514(e)): of the data,
 * shows only what `shownFields` permits, every id as a keyed hash, and in the first case every date and the event's own time
 * reduced to the year. Where a workspace shifts dates, those of a patient are shown whole instead, but earlier by a number of days that
 * is derived from the patient's id, and the event names the method (Expert Determination, 164.514(b)(1)). Each workspace's hashes and
 * shifts have their own keys, derived from the key, and hashes another one in each view, so they join within a workspace and view and
 * nowhere else; from the second epoch on, each event names the epoch.
 */
export function createDeidentifier(
  { key: secret, epoch }: PseudonymKey,
  view: NarrowedView = 'deidentified',
): Deidentifier {
  if (secret.length < MIN_SECRET_BYTES) {
    throw new Error(`the key of the de-identified view must have at least ${MIN_SECRET_BYTES} bytes`);
  }
  const keys = new Map<string, KeyObject>();
  const keyOf = (workspace: string, purpose: string): KeyObject => {
    const info = `chartledger ${purpose} ${workspace}`;
    let key = keys.get(info);
    if (key === undefined) {
      key = createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', info, 32)));
      keys.set(info, key);
    }
    return key;
  };
  const known = new LRUCache<string, string>({ max: CACHED_PSEUDONYMS });
  return (workspace, event, settings = safeHarbor, record = event.data.sent) =>
    narrow(view, event, record, {
      ...{ workspace, epoch, settings },
      pseudonym(kind, id) {
        const name = `${workspace}\0${kind}\0${id}`;
        let pseudonym = known.get(name);
        if (pseudonym === undefined) {
          pseudonym = pseudonymOf(keyOf(workspace, purposeOf[view]), kind, id);
          known.set(name, pseudonym);
        }
        return pseudonym;
      },
      shiftOf: (patientId) => shiftOf(keyOf(workspace, 'date shift'), patientId),
    });
}

/** Ids contain no control characters, so the NUL between kind and id keeps all pairs distinct. */
function pseudonymOf(key: KeyObject, kind: string, id: string): string {
  const digest = createHmac('sha256', key).update(`${kind}\0${id}`).digest('base64url');
  return digest.slice(0, PSEUDONYM_LENGTH);
}

/**
 * A shifted date is about a year early, so nobody takes it for the date of anything, and in its season; the days around the year are the secret.
 */
const LEAST_SHIFT_DAYS = 350;
const SHIFTS = 31;

/** Returns by how many days the dates of a patient are earlier: 350 to 380. */
function shiftOf(key: KeyObject, patientId: string): number {
  return LEAST_SHIFT_DAYS + (createHmac('sha256', key).update(patientId).digest().readUInt32BE() % SHIFTS);
}

/** Returns what the de-identified view shows of a time (ISO 8601): the beginning of its year. */
export function beginningOfYear(time: string): string {
  return `${time.slice(0, 4)}-01-01T00:00:00.000Z`;
}

type Pseudonym = DeidentifyContext['pseudonym'];

/** What an event is narrowed by. */
interface NarrowingBasis {
  workspace: string;
  epoch: number;
  settings: DeidentificationSettings;
  pseudonym: Pseudonym;
  shiftOf(patientId: string): number;
}

/** In which field records name the patient whose dates they have. */
const patientFields: Readonly<Record<string, string>> = { patient: 'id', encounter: 'patient_id' };

function narrow(
  view: NarrowedView,
  event: CloudEvent,
  record: Readonly<Record<string, unknown>>,
  { workspace, epoch, settings, pseudonym, shiftOf }: NarrowingBasis,
): CloudEvent {
  const feedType = byType.get(event.type);
  if (feedType === undefined) throw new Error('not an event of the stream');
  const isLimited = view === 'limited';
  const isShifted = !isLimited && settings.dates === 'shifted';
  const patientId = isShifted ? record[patientFields[feedType.kind] ?? ''] : undefined;
  const context: DeidentifyContext = {
    year: Number(event.time.slice(0, 4)),
    zipAreas: settings.zipAreas,
    shiftDays: typeof patientId === 'string' ? shiftOf(patientId) : undefined,
    pseudonym,
  };
  const hasZipAreas = isLimited || settings.zipAreas.size > 0;
  const names = namesIn[hasZipAreas ? view : 'withoutZipAreas'].get(event.type);
  return {
    specversion: '1.0',
    id: pseudonym('event', event.id),
    source: `/workspaces/${pseudonym('workspace', workspace)}`,
    type: event.type,
    subject: subjectOf(feedType.kind, event.subject, pseudonym),
    time: isLimited ? event.time : beginningOfYear(event.time),
    datacontenttype: 'application/json',
    ...(event.dataschema !== undefined && {
      dataschema: event.dataschema.replace(/[^/]*$/, narrowedSchemaName(view, event.type)),
    }),
    sequence: event.sequence,
    ...(epoch > 1 && { pseudonymepoch: epoch }),
    ...(isShifted && { deidentification: methodOf(settings) }),
    data: {
      version: event.data.version,
      sent: showFields(shownFields(view, feedType), event.data.sent, context, record),
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
