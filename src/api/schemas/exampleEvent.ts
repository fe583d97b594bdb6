import type { JsonObject, RecordedEvent } from '../../domain/events/event.ts';
import { tombstoneTypes } from '../../domain/events/recordErased.ts';
import {
  documentStream,
  encounterReadinessStream,
  readinessStream,
  recordStream,
} from '../../domain/events/streamNames.ts';
import { catalog } from '../../domain/records/catalog.ts';
import type { FeedEventType } from '../../modules/eventStream/cloudEvent.ts';
import { documentExample, exampleRequestId, upsertRequests } from './examples.ts';

const workspace = 'clinic';
const encounter_id = 'encounter-9001';
const versions = [{ part: 'encounter', kind: 'encounter', id: encounter_id, version: 2 }];

/** Data of the readiness events, by their types in the log. */
const readinessExamples: Record<string, JsonObject> = {
  EncounterBilled: { encounter_id, claim_id: 'claim-7001', versions },
  BillingChangeAcknowledged: { encounter_id, reason: 'The payer has accepted the claim as it was', versions },
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
export function exampleEvent(feedType: FeedEventType): RecordedEvent {
  const { stream, data } = exampleOf(feedType);
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

function exampleOf({ logType, kind }: FeedEventType): Pick<RecordedEvent, 'stream' | 'data'> {
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
