import { identifier, reference, requiredName } from '../../../src/domain/records/schema/fields.ts';
import { defineKind, registerKind } from '../../../src/domain/records/schema/kind.ts';
import { notBlank, notSsn } from '../../../src/domain/records/schema/validation.ts';

/** A made-up kind, for processes that are started with `node --import` of this module. */
registerKind(
  defineKind({
    kind: 'location',
    plural: 'locations',
    title: 'Location',
    description: 'A room or a bed.',
    eventType: 'LocationUpserted',
    fields: {
      id: identifier("The caller's location identifier", 'location-6001'),
      name: requiredName('Room 12'),
      facility_id: reference('facility', 'The facility that it is a part of', 'facility-3001'),
    },
    deidentified: { id: 'hashed', name: 'left out', facility_id: 'hashed' },
    usedInClaim: { id: false, name: false, facility_id: false },
    checks: { id: notSsn, name: notBlank, facility_id: notSsn },
  }),
);
