import { describe, expect, test } from 'vitest';
import { catalog } from '../../src/domain/records/catalog.ts';
import { type CloudEvent, feedEventTypes } from '../../src/modules/eventStream/cloudEvents.ts';
import { createDeidentifier, shownFieldNames } from '../../src/modules/eventStream/deidentification.ts';

const place = ['city', 'state', 'zip_code', 'country'];
const insurance = [
  ...[
    'payer_id',
    'effective_date',
    'termination_date',
    'subscriber_relationship',
    'subscriber_date_of_birth',
  ],
  ...['subscriber_city', 'subscriber_state', 'subscriber_zip_code', 'subscriber_country'],
];

/**
 * What a limited data set may have of each kind: nothing that 45 CFR 164.514(e)(2) lists, (i) names to (xvi) photographs, of patients,
 * relatives, employers or household members; ids are hashed.
 */
const kept: Record<string, string[]> = {
  patient: [
    ...['id', 'date_of_birth', 'gender', ...place, 'merged_into'],
    ...['primary', 'secondary', 'tertiary'].flatMap((rank) =>
      insurance.map((field) => `${rank}_insurance.${field}`),
    ),
  ],
  payer: ['id', 'payer_type', ...place],
  provider: ['id', 'role', 'taxonomy_code', ...place],
  facility: ['id', 'facility_type', ...place],
  encounter: [
    ...['id', 'patient_id', 'provider_id', 'rendering_provider_id', 'facility_id', 'date_of_service'],
    ...['visit_type', 'is_completed', 'voided_at'],
  ],
  document: ['encounter_id', 'document_id', 'category', 'format'],
};

describe('a limited data set', () => {
  test.each(Object.keys(kept))(
    'of a %s has these fields, and a new field only if it is added here',
    (kind) => {
      const types = feedEventTypes.filter((one) => one.kind === kind);
      for (const type of types)
        expect(shownFieldNames('limited', type).sort()).toEqual(kept[kind]?.toSorted());
    },
  );

  test('shows all that the de-identified view shows, and each kind has one', () => {
    expect([...catalog.map(({ kind }) => kind), 'document'].sort()).toEqual(Object.keys(kept).sort());
    for (const type of feedEventTypes) {
      const limited = new Set(shownFieldNames('limited', type));
      for (const field of shownFieldNames('deidentified', type)) expect(limited).toContain(field);
    }
  });

  const key = { key: Buffer.alloc(32, 7), epoch: 1 };
  const event = (sent: Record<string, unknown>): CloudEvent => ({
    ...{ specversion: '1.0', id: 'e-1', source: '/workspaces/clinic', subject: 'patient/p-1' },
    ...{ type: 'chartledger.patient.upserted.v1', time: '2026-03-14T09:30:00.000Z' },
    ...{ datacontenttype: 'application/json', sequence: '0000000000000001' },
    data: { version: 1, sent, changed: ['phone', 'city', 'zip_code'] },
  });

  test('keeps dates, cities, states and five digits of ZIP codes, and omits what could be anything else', () => {
    const narrow = createDeidentifier(key, 'limited');
    const shown = narrow(
      'clinic',
      event({
        ...{ id: 'p-1', first_name: 'Maria', date_of_birth: '1931-02-28', phone: '+1 402 555 0100' },
        ...{ city: 'Saint Louis', state: 'MO', zip_code: '63101-1234', address_line_1: '12 Elm Street' },
      }),
    );
    expect(shown).toMatchObject({
      time: '2026-03-14T09:30:00.000Z',
      source: expect.not.stringContaining('clinic'),
    });
    expect(shown.data).toEqual({
      version: 1,
      sent: {
        ...{ id: expect.stringMatching(/^[\w-]{22}$/), date_of_birth: '1931-02-28' },
        ...{ city: 'Saint Louis', state: 'MO', zip_code: '63101' },
      },
      changed: ['city', 'zip_code'],
    });
    const { sent } = narrow(
      'clinic',
      event({ city: '12 Elm Street', zip_code: 'Omaha', state: 'Ohio' }),
    ).data;
    expect(sent).toEqual({});
  });

  test('has other hashes than the de-identified view, so that the two do not join', () => {
    const ids = (['limited', 'deidentified'] as const).map(
      (view) => createDeidentifier(key, view)('clinic', event({ id: 'p-1' })).data.sent.id,
    );
    expect(ids[0]).not.toBe(ids[1]);
  });
});
