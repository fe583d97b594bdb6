import type { components, paths, webhooks } from './generated/api.ts';

type Schemas = components['schemas'];

/** The path of the records of each kind. */
export const recordPaths = {
  payer: '/integration/payers',
  patient: '/integration/patients',
  provider: '/integration/providers',
  facility: '/integration/facilities',
  encounter: '/integration/encounters',
} as const;

/** A kind of record. */
export type Kind = keyof typeof recordPaths;

type PathOf<K extends Kind> = (typeof recordPaths)[K];
type QueryOf<Operation> = Operation extends { parameters: { query?: infer Query } }
  ? [NonNullable<Query>] extends [never]
    ? unknown
    : NonNullable<Query>
  : unknown;

export type Payer = Schemas['Payer'];
export type Patient = Schemas['Patient'];
export type Insurance = Schemas['Insurance'];
export type Provider = Schemas['Provider'];
export type Facility = Schemas['Facility'];
export type Encounter = Schemas['Encounter'];
export type Document = Schemas['Document'];
export type DocumentUploaded = Schemas['DocumentUploaded'];
export type DocumentRemoved = Schemas['DocumentRemoved'];
export type DocumentVersion = Schemas['DocumentVersion'];
export type RecordVersion = Schemas['RecordVersion'];
/** Whether an encounter can be billed, and what is in the way. */
export type EncounterReadiness = Schemas['EncounterReadiness'];
/** A page of the worklist, with how many encounters there are in each state. */
export type Worklist = Schemas['Worklist'];
/** An encounter, and what is in the way of billing it. */
export type WorklistItem = Schemas['WorklistItem'];
/** What became of a record that was written. */
export type Written = paths['/integration/payers']['post']['responses'][200]['content']['application/json'];
export type ErrorBody = Schemas['ErrorBody'];
export type ErrorDetail = Schemas['ErrorDetail'];

/** A record of a kind, as it is sent. */
export type RecordOf<K extends Kind> = paths[PathOf<K>]['post']['requestBody']['content']['application/json'];

/** Fields of a record that change. */
export type PatchOf<K extends Kind> =
  paths[`${PathOf<K>}/{id}`]['patch']['requestBody']['content']['application/merge-patch+json'];

/** A record of a kind as it is read: all that was sent so far, with its version and dates. */
export type ViewOf<K extends Kind> =
  paths[PathOf<K>]['get']['responses'][200]['content']['application/json']['items'][number];

/** What a list of a kind can be asked for. */
export type ListQuery<K extends Kind> = QueryOf<paths[PathOf<K>]['get']>;

/** Which version of a record is read. */
export type ReadQuery = QueryOf<paths['/integration/payers/{id}']['get']>;

/** As of when the readiness of an encounter is told. */
export type ReadinessQuery = QueryOf<paths['/integration/encounters/{id}/readiness']['get']>;

/** What the worklist of readiness can be narrowed by. */
export type WorklistQuery = QueryOf<paths['/integration/readiness']['get']>;

/** What the event stream can be asked for. */
export type EventsQuery = QueryOf<paths['/events']['get']>;

/** How a record is written. */
export type WriteQuery = QueryOf<paths['/integration/payers']['post']>;

/** How the records of a batch are written. */
export type BatchQuery = QueryOf<paths['/integration/batch']['post']>;

/** A record of any kind, as a batch takes it. */
export type BatchLine = {
  [K in Kind]: {
    kind: K;
    record: RecordOf<K>;
    /** Write only if this is the current version; `*`: only if there is one. */
    if_match?: number | '*';
  };
}[Kind];

/** What became of a line of a batch. */
export type BatchResult = Schemas['BatchResult'];

/** A record or document that a search found. */
export type Found = Schemas['Found'];

/** What a search can be narrowed by. */
export type SearchQuery = Omit<Schemas['Search'], 'q'>;

/** Of what a snapshot is taken. */
export type SnapshotQuery = Omit<QueryOf<paths['/integration/snapshot']['get']>, 'kind'>;

/** Ends waiting, when it is aborted. */
export interface CallOptions {
  signal?: AbortSignal | undefined;
}

/** When something is written, and as which request. */
export interface WriteOptions extends CallOptions {
  /** Write only if this is the current version; `*`: only if there is one. Else the error has the code `version_conflict`. */
  if_match?: number | '*';
  /** Write only if there is none yet. Else the error has the code `version_conflict`. */
  if_none_match?: '*';
  /** Names the request, so that it is carried out once, however often it is sent. Default: a new one for each call. */
  idempotency_key?: string;
}

/** When a record that is there is changed, and as which request. */
export type PatchOptions = Omit<WriteOptions, 'if_none_match'>;

/** A message of a webhook, by its type. */
type Messages = {
  [Type in keyof webhooks]: webhooks[Type]['post']['requestBody']['content']['application/cloudevents+json'];
};

/** What a webhook sends: an event, or a ping. */
export type WebhookMessage = Messages[keyof Messages];

type EventMessage = Extract<WebhookMessage, { subject: string }>;

/** The type of an event, such as `chartledger.patient.upserted.v1`. */
export type EventType = EventMessage['type'];

/** A view of the event stream. */
export type View = 'full' | 'deidentified';

/** Of the forms that the data of a message can have, the one of a view: in the full one, any field may be named as changed. */
type DataOf<Data, V extends View> = Data extends { sent: unknown; changed: infer Changed }
  ? string[] extends Changed
    ? V extends 'full'
      ? Data
      : never
    : V extends 'deidentified'
      ? Data
      : never
  : never;

type EventOf<Message extends EventMessage, V extends View> = Message extends EventMessage
  ? Omit<Message, 'data'> & { data: DataOf<Message['data'], V> }
  : never;

/** An event of the stream (CloudEvents 1.0): what was sent, and which fields it changed. */
export type ChartledgerEvent<V extends View = 'full'> = EventOf<EventMessage, V>;
