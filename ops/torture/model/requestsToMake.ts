import fc from 'fast-check';
import { type FieldRule, fieldRules, insuranceRules } from './fieldRules.ts';
import type { Model } from './Model.ts';
import { type Fields, type KeyName, type Kind, keyNames, kinds, type ModelRequest } from './requests.ts';

/** A version that `If-Match` names, relative to what exists when the request is made. */
type Match = 'present' | 'another' | '*' | undefined;

/** A request whose named version is looked up in the model when it is made. */
export type Planned = (model: Model) => ModelRequest;

/** Mostly the same one, so that much happens to it. */
const ids = (kind: Kind) => [`${kind}-1`, `${kind}-1`, `${kind}-1`, `${kind}-2`, `${kind}/ü 3`];
const anyKind = fc.constantFrom(...kinds);
/** Mostly the one that may do everything. */
const anyKey: fc.Arbitrary<KeyName> = fc.oneof(
  { weight: 12, arbitrary: fc.constant('both' as const) },
  { weight: 3, arbitrary: fc.constantFrom(...keyNames) },
);
const anyMatch: fc.Arbitrary<Match> = fc.oneof(
  { weight: 8, arbitrary: fc.constant(undefined) },
  { weight: 4, arbitrary: fc.constantFrom<Match>('present', 'another', '*') },
);
const isNew = fc.oneof(
  { weight: 9, arbitrary: fc.constant(false) },
  { weight: 1, arbitrary: fc.constant(true) },
);
const idempotencyKey = fc.oneof(
  { weight: 6, arbitrary: fc.constant(undefined) },
  { weight: 2, arbitrary: fc.constantFrom('key-1', 'key-2') },
);

function fieldValue(rule: FieldRule): fc.Arbitrary<unknown> {
  const examples = rule.refersTo ? [...ids(rule.refersTo), 'nobody'] : rule.examples;
  const valid = examples.filter((value) => rule.isValid(value) && value !== 'nobody');
  const wrong = rule.refersTo ? ['nobody', 7] : examples.filter((value) => !rule.isValid(value));
  return fc.oneof(
    { weight: 30, arbitrary: fc.constantFrom(...valid) },
    { weight: 1, arbitrary: fc.constantFrom(...wrong) },
    { weight: 2, arbitrary: fc.constant(null) },
  );
}

function fieldsBy(rules: Record<string, FieldRule>): fc.Arbitrary<Fields> {
  const values = Object.fromEntries(
    Object.entries(rules).map(([field, rule]) => {
      const value = fieldValue(rule);
      const leaveOut = fc.constant(undefined);
      return [
        field,
        fc.oneof({ weight: rule.required ? 40 : 1, arbitrary: value }, { weight: 1, arbitrary: leaveOut }),
      ];
    }),
  );
  return fc.record(values).map(withoutUndefined);
}

function withoutUndefined<Value extends object>(value: Value): Value {
  return Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== undefined)) as Value;
}

function recordOf(kind: Kind): fc.Arbitrary<Fields & { id: string }> {
  const insurance = fc.oneof(
    { weight: 3, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constant(null) },
    { weight: 3, arbitrary: fieldsBy(insuranceRules) },
  );
  return fc
    .tuple(fc.constantFrom(...ids(kind)), fieldsBy(fieldRules[kind]), insurance)
    .map(([id, fields, primary_insurance]) =>
      withoutUndefined({ id, ...fields, ...(kind === 'patient' && { primary_insurance }) }),
    );
}

const recordWrite = fc.record({
  match: anyMatch,
  isNew,
  body: anyKind.chain((kind) => recordOf(kind).map((record) => ({ kind, record }))),
});

function matchOf(version: number | undefined, match: Match): { match?: number | '*' } {
  if (match === undefined) return {};
  if (match === '*') return { match };
  return { match: match === 'present' ? (version ?? 1) : (version ?? 0) + 1 };
}

function presentVersion(present: { version: number; state: string } | undefined): number | undefined {
  return present?.state === 'present' ? present.version : undefined;
}

const upsert = fc.record({ key: anyKey, write: recordWrite, skip: fc.boolean(), idempotencyKey }).map(
  ({ key, write: { body, match, isNew: fresh }, skip, idempotencyKey: name }): Planned =>
    (model) => ({
      op: 'upsert',
      key,
      write: {
        ...body,
        ...(fresh
          ? { isNew: true }
          : matchOf(presentVersion(model.record(body.kind, body.record.id)), match)),
      },
      skip,
      ...(name && { idempotencyKey: name }),
    }),
);

const batch = fc.record({ key: anyKey, lines: fc.array(recordWrite, { minLength: 1, maxLength: 8 }) }).map(
  ({ key, lines }): Planned =>
    (model) => ({
      op: 'batch',
      key,
      lines: lines.map(({ body, match }) => ({
        ...body,
        ...matchOf(presentVersion(model.record(body.kind, body.record.id)), match),
      })),
    }),
);

const encounterId = fc.constantFrom(...ids('encounter'));
const documentId = fc.constantFrom('document-1', 'document/ü 2');

const upload = fc
  .record({
    key: anyKey,
    encounter: encounterId,
    document: documentId,
    category: fc.constantFrom('lab_results', 'consent_form', 'lab_results', 'no such'),
    content: fc.constantFrom('%PDF-1.7\na', '%PDF-1.7\nbb', '%PDF-1.7\nccc', 'no PDF'),
    match: anyMatch,
    isNew,
    idempotencyKey,
  })
  .map(
    ({ key, match, isNew: fresh, idempotencyKey: name, ...document }): Planned =>
      (model) => ({
        op: 'upload',
        key,
        document: {
          ...document,
          ...(fresh
            ? { isNew: true }
            : matchOf(presentVersion(model.document(document.encounter, document.document)), match)),
        },
        ...(name && { idempotencyKey: name }),
      }),
  );

const remove = fc.record({ key: anyKey, encounter: encounterId, document: documentId, match: anyMatch }).map(
  ({ match, ...named }): Planned =>
    (model) => ({
      op: 'remove',
      ...named,
      ...matchOf(presentVersion(model.document(named.encounter, named.document)), match),
    }),
);

const oneRecord = anyKind.chain((kind) =>
  fc.record({ kind: fc.constant(kind), id: fc.constantFrom(...ids(kind)) }),
);

const fixed = <Request extends ModelRequest>(arbitrary: fc.Arbitrary<Request>): fc.Arbitrary<Planned> =>
  arbitrary.map((request) => () => request);

const reads = fc.oneof(
  fixed(fc.tuple(anyKey, oneRecord).map(([key, named]) => ({ op: 'read' as const, key, ...named }))),
  fixed(fc.tuple(anyKey, oneRecord).map(([key, named]) => ({ op: 'history' as const, key, ...named }))),
  fixed(fc.record({ op: fc.constant('list' as const), key: anyKey, kind: anyKind })),
  fixed(fc.record({ op: fc.constant('documents' as const), key: anyKey, encounter: encounterId })),
  fixed(
    fc.record({
      op: fc.constant('download' as const),
      key: anyKey,
      encounter: encounterId,
      document: documentId,
    }),
  ),
);

const administrated = fc.constantFrom<KeyName>('both', 'writes', 'reads');

const administration = fc.oneof(
  { weight: 6, arbitrary: fixed(oneRecord.map((named) => ({ op: 'erase' as const, ...named }))) },
  {
    weight: 3,
    arbitrary: fixed(
      fc.record({
        op: fc.constant('setKey' as const),
        key: administrated,
        state: fc.constantFrom(
          'active' as const,
          'active' as const,
          'deactivated' as const,
          'deleted' as const,
        ),
      }),
    ),
  },
  { weight: 3, arbitrary: fixed(fc.record({ op: fc.constant('newKey' as const), key: administrated })) },
  {
    weight: 1,
    arbitrary: fixed(
      fc.record({
        op: fc.constant('setWorkspace' as const),
        state: fc.constantFrom('active' as const, 'active' as const, 'deactivated' as const),
      }),
    ),
  },
  { weight: 1, arbitrary: fc.constant<Planned>(() => ({ op: 'restart' })) },
);

/** What every run begins with, so that there is something to refer to. */
export const first: ModelRequest = {
  op: 'batch',
  key: 'both',
  lines: [
    { kind: 'payer', record: { id: 'payer-1', name: 'Aetna' } },
    { kind: 'provider', record: { id: 'provider-1', first_name: 'Ada', last_name: 'Nguyen' } },
    { kind: 'facility', record: { id: 'facility-1', name: 'Elm Street Clinic' } },
    {
      kind: 'patient',
      record: { id: 'patient-1', first_name: 'Maria', last_name: 'Lopez', date_of_birth: '1984-02-29' },
    },
    { kind: 'encounter', record: { id: 'encounter-1', patient_id: 'patient-1' } },
  ],
};

/** Requests of all sorts, in the proportions that are likely to find something. */
export const planned: fc.Arbitrary<Planned>[] = [
  ...Array.from({ length: 10 }, () => upsert),
  batch,
  batch,
  ...Array.from({ length: 5 }, () => upload),
  remove,
  ...Array.from({ length: 6 }, () => reads),
  administration,
];
