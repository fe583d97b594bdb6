import { z } from 'zod';
import { validate } from '../../domain/records/schema/validate.ts';
import { recordBilled } from '../../modules/readiness/recordBilled.ts';
import { endpoint } from '../schemas/endpoint.ts';
import { readJson } from '../server/readJson.ts';
import {
  billingEndpoint,
  billingOnce,
  billingWrittenSchema,
  claimId,
  exampleWritten,
  wantedVersion,
} from './billingSchemas.ts';
import type { RecordWritePorts } from './writeOnce.ts';

const billedSchema = z
  .object({ claim_id: claimId, version: wantedVersion })
  .meta({ id: 'BilledClaim', description: 'A claim that was sent for an encounter.' });

/** `POST /integration/encounters/{id}/billed`. */
export const recordEncounterBilled = endpoint({
  ...billingEndpoint,
  path: '/integration/encounters/{id}/billed',
  operationId: 'recordEncounterBilled',
  summary: 'Record that an encounter was billed',
  description:
    'Records which claim was sent for the encounter, with the versions of all records that it is based on ' +
    'at that moment. If data that a claim contains changes later, the readiness of the encounter has the ' +
    'finding `changed_after_billing` until the encounter is billed again or the change is acknowledged. ' +
    'An encounter that is not ready can be recorded as billed too: `warnings` lists the findings. A void ' +
    'encounter is refused. Sending the same claim with the same versions again changes nothing.',
  body: {
    required: true,
    content: {
      'application/json': { schema: billedSchema, example: { claim_id: 'claim-7001', version: 2 } },
    },
  },
  answers: {
    200: { description: 'It is durably recorded.', schema: billingWrittenSchema, example: exampleWritten },
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
