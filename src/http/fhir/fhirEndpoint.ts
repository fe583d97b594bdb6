import { fieldPaths } from '../../ingest/fhir/fieldPaths.ts';
import { onKind, scopeKinds } from '../../principals/keys/permissions.ts';
import type { Answer } from '../server/answer.ts';
import type { Exchange } from '../server/exchange.ts';
import type { ServedEndpoint } from '../server/serveEndpoint.ts';
import { refuseAsFhir } from './fhirAnswer.ts';

/** The elements whose names may appear in the audit trail. */
const elements: ReadonlySet<string> = new Set([
  ...Object.values(fieldPaths).flatMap((paths) => Object.values(paths ?? {})),
  ...['Coverage.beneficiary', 'PractitionerRole.practitioner', 'DocumentReference.context.encounter'],
  ...['Bundle.type', 'Bundle.entry.request.method', 'Bundle.entry.request.url'],
]);

/**
 * An endpoint that takes resources, and refuses in FHIR's form. A key that may write only some kinds can send only
 * those.
 */
export function fhirEndpoint(route: string, handle: (exchange: Exchange) => Promise<Answer>): ServedEndpoint {
  const permission = ['write', ...scopeKinds.flatMap((kind) => onKind('write', kind).slice(1))] as const;
  return {
    route,
    permission: [...permission] as ServedEndpoint['permission'],
    fields: elements,
    handle,
    refuse: refuseAsFhir,
  };
}
