import { z } from 'zod';
import { recordBilled } from '../../../commands/billing/recordBilled.ts';
import { validate } from '../../../records/validate.ts';
import { endpoint } from '../../endpoint/endpoint.ts';
import { readJson } from '../../server/readJson.ts';
import type { RecordWritePorts } from '../records/writeOnce.ts';
import {
  billingEndpoint,
  billingOnce,
  billingWrittenSchema,
  claimId,
  exampleWritten,
  wantedVersion,
} from './billingSchemas.ts';

const billedSchema = z
  .object({ claim_id: claimId, version: wantedVersion })
  .meta({ id: 'BilledClaim', description: 'A claim for an encounter that was sent.' });

/** `POST /integration/encounters/{id}/billed`. */
export const recordEncounterBilled = endpoint({
  ...billingEndpoint,
  path: '/integration/encounters/{id}/billed',
  operationId: 'recordEncounterBilled',
  summary: 'Record that an encounter was billed',
  description:
    'Records which claim was sent for the encounter, with the versions of all records on which it rests at that moment. What a claim carries and ' +
    'changes later is a finding of its readiness, `changed_after_billing`, until the encounter is billed again or the change is acknowledged. An ' +
    'encounter that is not ready may have been billed all the same: `warnings` tell what was found. One that is void is refused. The same claim ' +
    'again, of the same versions, changes nothing.',
  body: {
    required: true,
    content: {
      'application/json': { schema: billedSchema, example: { claim_id: 'claim-7001', version: 2 } },
    },
  },
  answers: {
    200: { description: 'It is recorded, durably.', schema: billingWrittenSchema, example: exampleWritten },
  },
  errors: [
    'InvalidBilling',
    'RecordNotFound',
    'Erased',
    'VoidEncounter',
    'VersionConflict',
    'BodyTooLarge',
    'NotJson',
  ],
  handler: (ports: RecordWritePorts) => async (exchange) => {
    const input = await readJson(exchange);
    const claim = validate(billedSchema, input);
    return billingOnce(ports, exchange, input, 'Encounter billed', (caller, id) =>
      recordBilled(ports, caller, id, claim),
    );
  },
});
