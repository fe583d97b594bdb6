import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { catalogEntry } from '../../src/domain/records/catalog.ts';
import { evolveRecord, mergeFields, type RecordState, viewRecord } from '../../src/domain/records/fold.ts';
import type { RecordFields } from '../../src/domain/records/schema/kind.ts';

import { insuranceRows, type SpecKind, specKinds, specTables } from '../support/samples.ts';

const word = fc.string({ minLength: 1, maxLength: 8 });
const value = fc.oneof(word, fc.boolean(), fc.constant(null));
const insurance = fc
  .record(Object.fromEntries(insuranceRows.map(({ field }) => [field, fc.option(word)])), {
    requiredKeys: [],
  })
  .map((fields) => ({ ...fields, payer_id: 'payer-1' }));

/** What a caller may send of a kind: its `id`, and any of the other fields. */
function patch(kind: SpecKind) {
  const model = Object.fromEntries(
    specTables[kind].map(({ field, is }) => [field, is.type === 'insurance' ? fc.option(insurance) : value]),
  );
  return fc
    .record(model, { requiredKeys: [] })
    .map((fields): RecordFields => ({ ...fields, id: 'record-1' }));
}

const kinds = specKinds;
const sent = fc
  .constantFrom(...kinds)
  .chain((kind) => fc.record({ kind: fc.constant(kind), patches: fc.array(patch(kind), { minLength: 1 }) }));

function fold(kind: SpecKind, patches: RecordFields[], from?: RecordState): RecordState | undefined {
  return patches.reduce<RecordState | undefined>((state, data) => {
    const revision = state?.version ?? 0;
    const recordedAt = new Date(1_700_000_000_000 + revision).toISOString();
    const type = catalogEntry(kind).eventType;
    const event: unknown = { type, data, metadata: { schemaVersion: 1 }, revision, recordedAt };
    return evolveRecord(kind, state, event as RecordedEvent);
  }, from);
}

function merged(patches: RecordFields[]): RecordFields {
  return patches.reduce(mergeFields, { id: 'record-1' });
}

describe('merging', () => {
  test('the same record sent again changes nothing', () => {
    fc.assert(
      fc.property(sent, ({ patches }) => {
        const once = merged(patches);
        expect(mergeFields(once, patches.at(-1) as RecordFields)).toEqual(once);
      }),
    );
  });

  test('records that have no field in common may come in any order', () => {
    fc.assert(
      fc.property(sent, fc.func(fc.boolean()), ({ patches }, isLeft) => {
        const all = Object.entries(patches[0] as RecordFields);
        const left = Object.fromEntries(all.filter(([field]) => isLeft(field))) as RecordFields;
        const right = Object.fromEntries(all.filter(([field]) => !isLeft(field))) as RecordFields;
        expect(merged([left, right])).toEqual(merged([right, left]));
      }),
    );
  });

  test('each field is as the last record that held it says, or absent', () => {
    fc.assert(
      fc.property(sent, ({ kind, patches }) => {
        const result = merged(patches);
        for (const { field } of specTables[kind]) {
          const last = patches.findLast((one) => Object.hasOwn(one, field))?.[field];
          const expected = JSON.parse(
            JSON.stringify(last ?? null, (key, inner) => (key && inner === null ? undefined : inner)),
          );
          expect(result[field] ?? null).toEqual(expected);
        }
      }),
    );
  });

  test('null clears, and no null is left, not even in an insurance object', () => {
    fc.assert(
      fc.property(sent, ({ kind, patches }) => {
        const cleared = Object.fromEntries(specTables[kind].map(({ field }) => [field, null]));
        const all = { ...cleared, id: 'record-1' } as RecordFields;
        expect(mergeFields(merged(patches), all)).toEqual({ id: 'record-1' });
        expect(JSON.stringify(merged(patches))).not.toContain('null,');
        expect(JSON.stringify(merged(patches))).not.toContain('null}');
      }),
    );
  });

  test('neither argument is changed', () => {
    fc.assert(
      fc.property(sent, ({ patches }) => {
        const before = JSON.stringify(patches);
        const first = Object.freeze(merged(patches));
        mergeFields(first, Object.freeze(patches[0]) as RecordFields);
        expect(JSON.stringify(patches)).toBe(before);
      }),
    );
  });

  test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
    'a field called %s is a field like any',
    (name) => {
      const hostile = JSON.parse(
        `{"id": "record-1", "${name}": {"first_name": "Mallory", "polluted": "yes"}}`,
      );
      const result = mergeFields({ id: 'record-1' }, hostile);
      expect(Object.hasOwn(result, name)).toBe(true);
      expect(result.first_name).toBeUndefined();
      expect(({} as Record<string, unknown>).polluted).toBeUndefined();
      const state = {
        kind: 'patient',
        fields: result,
        version: 1,
        createdAt: '',
        updatedAt: '',
      } as RecordState;
      expect(viewRecord(state)).toEqual({ id: 'record-1', country: 'US' });
      expect(mergeFields(result, JSON.parse(`{"id": "record-1", "${name}": null}`))).toEqual({
        id: 'record-1',
      });
    },
  );
});

describe('folding', () => {
  test('all events give what the first of them and then the rest give', () => {
    fc.assert(
      fc.property(sent, fc.nat(), ({ kind, patches }, cut) => {
        const at = cut % (patches.length + 1);
        const stored = JSON.parse(JSON.stringify(fold(kind, patches.slice(0, at)) ?? null)) ?? undefined;
        expect(fold(kind, patches.slice(at), stored)).toEqual(fold(kind, patches));
      }),
    );
  });

  test('counts versions, and keeps when the record was made', () => {
    fc.assert(
      fc.property(sent, ({ kind, patches }) => {
        const state = fold(kind, patches) as RecordState;
        expect(state.version).toBe(patches.length);
        expect(state.createdAt).toBe(new Date(1_700_000_000_000).toISOString());
        expect(Date.parse(state.updatedAt)).toBe(1_700_000_000_000 + patches.length - 1);
      }),
    );
  });

  test('a reader sees the sent fields and nothing beside them but the defaults', () => {
    fc.assert(
      fc.property(sent, ({ kind, patches }) => {
        const state = fold(kind, patches) as RecordState;
        const { fields } = state;
        const defaults =
          kind === 'encounter'
            ? { rendering_provider_id: fields.rendering_provider_id ?? fields.provider_id }
            : { country: fields.country ?? 'US' };
        expect(viewRecord(state)).toEqual(JSON.parse(JSON.stringify({ ...fields, ...defaults })));
      }),
    );
  });
});
