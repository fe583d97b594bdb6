import type { FoundKey } from '../../modules/auth/KeyDirectory.ts';
import { onKind, scopeKinds } from '../../modules/auth/permissions.ts';
import { fieldPaths } from '../../modules/integrations/fhir/resources/fieldPaths.ts';
import { requirePermission } from '../server/admit.ts';
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

/** By type of resource, the kinds of the records that it is written to. */
const kindsOf = new Map([
  ['Patient', ['patient']],
  ['Coverage', ['patient']],
  ['Organization', ['payer', 'facility']],
  ['Location', ['facility']],
  ['Practitioner', ['provider']],
  ['PractitionerRole', ['provider']],
  ['Encounter', ['encounter']],
  ['DocumentReference', ['document']],
]);

/**
 * Throws `permission_denied` when a key may write no record of resources of a type, before anything of a resource is
 * read; what is written is checked again, record by record.
 */
export function requireType({ found }: Pick<Exchange, 'found'>, type: string | undefined): void {
  const kinds = kindsOf.get(type ?? '') ?? [];
  if (kinds.length === 0) return;
  requirePermission(found as FoundKey, [...new Set(kinds.flatMap((kind) => onKind('write', kind)))]);
}
