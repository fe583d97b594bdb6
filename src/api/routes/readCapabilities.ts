import { resourceTypes } from '../../modules/integrations/fhir/resources/mapResource.ts';
import { version } from '../../platform/version.ts';
import type { ServedEndpoint } from '../server/serveEndpoint.ts';
import { FHIR_JSON, refuseAsFhir } from './fhirAnswer.ts';

const startedAt = new Date().toISOString();

/** `GET /fhir/metadata` (FHIR R4, 3.1.0.12): what this interface accepts, and how. */
export function readCapabilities(): ServedEndpoint {
  const body = capabilityStatement();
  return {
    ...{ route: '/fhir/metadata', permission: 'public', query: 'ignored', refuse: refuseAsFhir },
    handle: async () => ({ type: FHIR_JSON, body }),
  };
}

function capabilityStatement(): object {
  return {
    resourceType: 'CapabilityStatement',
    status: 'active',
    date: startedAt,
    kind: 'instance',
    software: { name: 'Chartledger', version },
    implementation: { description: 'Accepts what claims are based on, and keeps every version' },
    fhirVersion: '4.0.1',
    format: ['application/fhir+json'],
    rest: [
      {
        mode: 'server',
        documentation:
          'Resources become records: Patient, Practitioner, Location, Organization (a payer or a ' +
          'facility, depending on its type), Encounter and DocumentReference become one record each; ' +
          'Coverage and the coverage inside ExplanationOfBenefit become insurances of the patient; ' +
          'PractitionerRole adds data about the provider. Resources of other types in a Bundle are left ' +
          'out, which is stated in their entry. A resource that changes nothing creates no new ' +
          'version.\n\nIn a transaction, everything is validated and resolved before anything is written, ' +
          'and any refusal refuses the whole transaction. It is not a transaction of the store: if a ' +
          'store is lost midway, the response is 503, and sending the same Bundle again completes it.',
        security: {
          description: 'An API key with write permission, as `x-api-key` or as a bearer token.',
        },
        resource: resourceTypes.map((type) => ({
          type,
          interaction: [{ code: 'create' }, { code: 'update' }],
          updateCreate: true,
          conditionalCreate: true,
          conditionalUpdate: false,
          referencePolicy: ['literal', 'logical', 'resolves', 'local'],
        })),
        interaction: [{ code: 'transaction' }, { code: 'batch' }],
        operation: [
          {
            name: 'import',
            definition: 'https://hl7.org/fhir/uv/bulkdata/OperationDefinition/import',
            documentation:
              'POST /fhir/$import with Bulk Data as the body: NDJSON, one resource per line, in any ' +
              'order, as application/fhir+ndjson. The response is NDJSON: the lines that were refused or ' +
              'have remarks, each with its number and an OperationOutcome, and a summary at the end.',
          },
        ],
      },
    ],
  };
}
