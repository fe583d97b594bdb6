import { resourceTypes } from '../../ingest/fhir/mapResource.ts';
import { version } from '../../version.ts';
import type { ServedEndpoint } from '../server/serveEndpoint.ts';
import { FHIR_JSON, refuseAsFhir } from './fhirAnswer.ts';

const startedAt = new Date().toISOString();

/** `GET /fhir/metadata` (FHIR R4, 3.1.0.12): what this interface takes, and how. */
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
    implementation: { description: 'Takes what a claim rests on, and keeps every version of it' },
    fhirVersion: '4.0.1',
    format: ['application/fhir+json'],
    rest: [
      {
        mode: 'server',
        documentation:
          'Resources become records: of Patient, Practitioner, Location, Organization (a payer by its type, else a facility), Encounter and ' +
          'DocumentReference one each; Coverage and the coverage inside ExplanationOfBenefit become insurances of the patient, ' +
          'PractitionerRole tells of the provider. Resources of other types in a Bundle are left out, which its entry says. A resource that ' +
          'changes nothing makes no new version.\n\nOf a transaction everything is validated and resolved before anything is written, and ' +
          'any refusal refuses all of it. It is no transaction of the store: one that is lost midway is answered with 503, and the same ' +
          'Bundle, sent again, completes it.',
        security: {
          description: 'An API key with permission to write, as `x-api-key` or as a bearer token.',
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
              'POST /fhir/$import with Bulk Data as the body: NDJSON, a resource a line, in any order, as application/fhir+ndjson. ' +
              'The answer is NDJSON: the lines that were refused or remarked upon, each with its number and an OperationOutcome, and a ' +
              'summary at the end.',
          },
        ],
      },
    ],
  };
}
