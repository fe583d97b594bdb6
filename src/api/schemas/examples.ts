import { z } from 'zod';
import type { JsonObject, RecordedEvent } from '../../domain/events/event.ts';
import { tombstoneTypes } from '../../domain/events/payloads.ts';
import {
  documentStream,
  encounterReadinessStream,
  readinessStream,
  recordStream,
} from '../../domain/events/streams.ts';
import { catalog } from '../../domain/records/catalog.ts';
import { documentFormats } from '../../domain/records/document.ts';
import { mergeFields, qualityWarnings } from '../../domain/records/fold.ts';
import type { CatalogEntry, RecordFields } from '../../domain/records/schema/kind.ts';
import type { StreamedEventType } from '../../modules/eventStream/cloudEvents.ts';
import { toRecordView } from '../../modules/records/queries/records.ts';
import { storedField } from './records.ts';

type Example = { summary: string; value: Record<string, unknown> };
type Examples = Record<string, Example>;

const createdAt = '2026-03-14T09:30:00.000Z';
const updatedAt = '2026-03-14T16:05:12.480Z';
/** The service's address. */
export const exampleAddress = 'https://chartledger.example.com';

/** A `Request-Id`. */
export const exampleRequestId = '019cebb7-54c0-7c1e-9b3a-5f0a6d2c8e41';

/** Returns the example of a field, or the object of its fields' examples. */
export function exampleOf(field: z.ZodType): unknown {
  const stored = storedField(field);
  if (stored instanceof z.ZodObject) return exampleOfEach(stored.shape);
  const [example] = (stored.meta()?.examples ?? []) as unknown[];
  return example;
}

/**
 * Objects of one schema (the insurances) are shown once, and fields without an example, which are rare, not at all.
 */
function exampleOfEach(shape: Record<string, z.ZodType>): RecordFields {
  const nested = new Set<z.ZodType>();
  const fields = Object.entries(shape).filter(([, field]) => {
    const stored = storedField(field);
    if (!(stored instanceof z.ZodObject)) return true;
    if (nested.has(stored)) return false;
    nested.add(stored);
    return true;
  });
  const examples = fields.map(([name, field]) => [name, exampleOf(field)] as const);
  return Object.fromEntries(examples.filter(([, example]) => example !== undefined)) as RecordFields;
}

function isOptional(field: z.ZodType): boolean {
  return field.safeParse(undefined).success;
}

function requiredFields({ schema }: CatalogEntry): RecordFields {
  const fields: [string, z.ZodType][] = Object.entries(schema.shape);
  return exampleOfEach(Object.fromEntries(fields.filter(([, field]) => !isOptional(field))));
}

/** Returns bodies of an upsert; sent in the kinds' dependency order, each is accepted. */
export function upsertRequests(entry: CatalogEntry): Examples {
  const required = requiredFields(entry);
  const [optional] = Object.entries(entry.schema.shape).find(([, field]) => isOptional(field)) as [
    string,
    unknown,
  ];
  return {
    complete: { summary: 'Complete', value: exampleOfEach(entry.schema.shape) },
    minimal: { summary: 'Only the required fields; the others keep their values', value: required },
    clear: { summary: `\`null\` clears \`${optional}\``, value: { ...required, [optional]: null } },
  };
}

/** Returns bodies of a patch. */
export function patchRequests({ schema }: CatalogEntry): Examples {
  const texts = Object.entries<z.ZodType>(schema.shape).filter(
    ([name, field]) => name !== 'id' && typeof exampleOf(field) === 'string',
  );
  const cleared = texts.findLast(([, field]) => isOptional(field))?.[0];
  const changed = texts.findLast(([name]) => name !== cleared);
  return {
    ...(changed && {
      change: { summary: 'Change one field', value: { [changed[0]]: exampleOf(changed[1]) } },
    }),
    ...(cleared && { clear: { summary: '`null` clears a field', value: { [cleared]: null } } }),
  };
}

/** Returns responses to an upsert. */
export function upsertAnswers(entry: CatalogEntry): Examples {
  const sent = requiredFields(entry);
  const warnings = qualityWarnings(entry, { ...sent, nickname: '' }, sent);
  const answer = (version: number, outcome: string) => ({
    success: true,
    message: `${entry.title} ${outcome}`,
    version,
    outcome,
  });
  return {
    created: { summary: 'A new record', value: { ...answer(1, 'created'), warnings: [] } },
    updated: {
      summary: 'An existing record, sent with an unknown field',
      value: { ...answer(2, 'updated'), warnings },
    },
    unchanged: {
      summary: 'A record that does not change, with `unchanged=skip`',
      value: { ...answer(2, 'unchanged'), warnings: [] },
    },
    dry_run: {
      summary: 'With `dry_run=true`: nothing was written',
      value: {
        ...answer(1, 'created'),
        message: `${entry.title} would be created`,
        warnings: [],
        dry_run: true,
        changed_fields: Object.keys(sent),
      },
    },
  };
}

/** Returns a record as it is read. */
export function viewExample({ kind, schema }: CatalogEntry) {
  const fields = mergeFields({} as RecordFields, exampleOfEach(schema.shape));
  return toRecordView({ kind, fields, version: 2, createdAt, updatedAt });
}

/** A document as it is listed. */
export const documentExample = {
  document_id: 'document-5001',
  category: 'lab_results',
  filename: 'results.pdf',
  content_type: documentFormats.pdf,
  size: 48_213,
  sha256: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  version: 1,
  created_at: createdAt,
  updated_at: createdAt,
};

const workspace = 'clinic';
const encounter_id = 'encounter-9001';
const versions = [{ part: 'encounter', kind: 'encounter', id: encounter_id, version: 2 }];

/** Data of the readiness events, by their types in the log. */
const readinessExamples: Record<string, JsonObject> = {
  EncounterBilled: { encounter_id, claim_id: 'claim-7001', versions },
  BillingChangeAcknowledged: { encounter_id, reason: 'The payer has accepted the claim as it was', versions },
  FindingAnswered: {
    ...{ encounter_id, rule: 'zip_of_other_state', answer: 'accepted' },
    record: { kind: 'patient', id: 'patient-1001', version: 7 },
    ...{ reason: 'The ZIP code spans two states', until: '2026-06-30' },
  },
  ClaimOutcomeReported: {
    ...{ encounter_id, claim_id: 'claim-7001', source: '277CA', outcome: 'rejected' },
    statuses: [{ category: 'A7', code: '562', entity: '85' }],
  },
  EncounterReadinessChanged: {
    ...{ encounter_id, from: 'ready', to: 'blocked', rules: ['payer_code_missing'] },
    cause: { event_id: exampleRequestId, kind: 'payer', id: 'payer-aetna', version: 2 },
    rules_version: 'readiness_v2.44136fa355b3',
  },
  ReadinessRulesApplied: {
    cause: exampleRequestId,
    before: { ready: 118, blocked: 4 },
    after: { ready: 121, blocked: 1 },
  },
};

/** Returns an event of a type, as the log would hold it. */
export function exampleEvent(feedType: StreamedEventType): RecordedEvent {
  const { stream, data } = exampleDataOf(feedType);
  const isErasure = tombstoneTypes.includes(feedType.logType);
  return {
    id: exampleRequestId,
    type: feedType.logType,
    stream,
    revision: isErasure ? 3 : 0,
    position: 8_135,
    recordedAt: '2026-03-14T16:05:12.480Z',
    data: isErasure ? { part: 1, parts: 1 } : data,
    metadata: {
      workspace,
      principal: { type: 'api_key', id: 'key_4fTq9LmZs2Xw8RbC' },
      requestId: exampleRequestId,
      $correlationId: exampleRequestId,
      schemaVersion: 1,
    },
  };
}

function exampleDataOf({ logType, kind }: StreamedEventType): Pick<RecordedEvent, 'stream' | 'data'> {
  const entry = catalog.find((one) => one.kind === kind);
  if (entry) {
    const data = upsertRequests(entry).complete?.value as JsonObject;
    return { stream: recordStream(workspace, kind, String(data.id)), data };
  }
  if (kind === 'readiness') {
    const isOfAll = logType === 'ReadinessRulesApplied';
    const stream = isOfAll ? readinessStream(workspace) : encounterReadinessStream(workspace, encounter_id);
    return { stream, data: readinessExamples[logType] ?? {} };
  }
  const { document_id, category, filename, size, sha256 } = documentExample;
  const file = { category, filename, format: 'pdf', size, sha256, object_id: exampleRequestId };
  return {
    stream: documentStream(workspace, encounter_id, document_id),
    data: { encounter_id, document_id, ...(logType !== 'DocumentRemoved' && file) },
  };
}
