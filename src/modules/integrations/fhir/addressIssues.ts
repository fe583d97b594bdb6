import type { FhirEntry } from './FhirEntry.ts';
import type { Identity } from './identify.ts';
import { type Issue, refused } from './resources/issue.ts';

/** Returns what is wrong with how an entry is addressed. */
export function addressIssues(
  { id, query, ifAbsent, ifMatch, resource }: FhirEntry,
  identity: Identity,
): Issue[] {
  const { type, kind, identifiers } = identity;
  const ownId = (resource as { id?: unknown }).id;
  const issues: Issue[] = [];
  if (id !== undefined && ownId !== id) {
    issues.push(
      refused('invalid', `${type}.id`, 'It must match the id in the address that the resource is sent to.'),
    );
  }
  if (query !== undefined && !identifiers.some((one) => isSearchedBy(query, one))) {
    const text = 'A condition must use an identifier of the resource itself: identifier=system|value.';
    issues.push(refused('not-supported', `${type}.identifier`, text));
  }
  const isConditional = ifAbsent || ifMatch !== undefined;
  if (isConditional && (kind === undefined || kind === 'document')) {
    const text =
      'A condition is supported only for a resource that has its own record, and not for a document.';
    issues.push(refused('not-supported', `${type}`, text));
  }
  return issues;
}

function isSearchedBy(
  query: string,
  { system = '', value }: { system?: string | undefined; value?: string | undefined },
): boolean {
  const token = new URLSearchParams(query).get('identifier');
  if (token === null || value === undefined) return false;
  return token === `${system}|${value}` || token === value;
}
