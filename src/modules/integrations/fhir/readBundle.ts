import { z } from 'zod';
import type { FhirEntry } from './FhirEntry.ts';
import { listOf } from './resources/dataTypes.ts';
import { type Issue, refused } from './resources/issue.ts';
import { typeOf } from './resources/mapResource.ts';
import { versionOf } from './versionOf.ts';

/** The parts of a Bundle (FHIR R4, 2.36) that are used. */
const bundleSchema = z.object({
  resourceType: z.literal('Bundle'),
  type: z.enum(['batch', 'transaction']),
  entry: listOf(
    z.object({
      fullUrl: z.string().optional(),
      resource: z.unknown().optional(),
      request: z
        .object({
          method: z.string(),
          url: z.string(),
          ifMatch: z.string().optional(),
          ifNoneExist: z.string().optional(),
        })
        .optional(),
    }),
    100_000,
  ).default([]),
});
type BundleEntry = z.infer<typeof bundleSchema>['entry'][number];

/** A Bundle, entry by entry: what each requests, or why that is not accepted. */
export interface ReadBundle {
  type: 'batch' | 'transaction';
  read: (FhirEntry | { issue: Issue })[];
}

/** Returns the value as a Bundle; an issue where it is not one, or of a type that is not accepted. */
export function readBundle(value: unknown): ReadBundle | { issue: Issue } {
  const bundle = bundleSchema.safeParse(value);
  if (!bundle.success) return { issue: notBundle(bundle.error) };
  const { type, entry } = bundle.data;
  return { type, read: entry.map(readEntry) };
}

function notBundle(error: z.ZodError): Issue {
  const [first] = error.issues;
  if (first?.path[0] === 'type') {
    return refused(
      'not-supported',
      'Bundle.type',
      'Only bundles of the types batch and transaction are supported.',
    );
  }
  const places = (first?.path ?? []).map((part) =>
    typeof part === 'number' ? `[${part}]` : `.${String(part)}`,
  );
  return refused('invalid', `Bundle${places.join('')}`, 'Send a Bundle that conforms to FHIR R4.');
}

/** Returns what an entry requests, or why that is not accepted. */
function readEntry({ fullUrl, resource, request }: BundleEntry, index: number): FhirEntry | { issue: Issue } {
  const at = `Bundle.entry[${index}].resource`;
  const wrong = (element: string, text: string) => ({
    issue: refused('not-supported', `Bundle.entry[${index}].request${element}`, text),
  });
  if (request === undefined) return wrong('', 'Send the request with its method and url.');
  const { method, url, ifMatch, ifNoneExist } = request;
  if (method !== 'POST' && method !== 'PUT')
    return wrong('.method', 'Only the methods POST and PUT are supported.');
  const [path = '', query] = url.split('?', 2);
  const [type, id, ...rest] = path.split('/');
  const isAddressed =
    method === 'PUT' ? (id === undefined) !== (query === undefined) : id === undefined && query === undefined;
  if (type !== typeOf(resource) || rest.length > 0 || !isAddressed) {
    return wrong(
      '.url',
      'Send the type of the resource and, with PUT, its id or a condition on one of its identifiers.',
    );
  }
  const version = versionOf(ifMatch);
  if (version === 'invalid') return wrong('.ifMatch', 'Send a version in the form W/"3".');
  return {
    ...{ at, fullUrl, resource, id, ifMatch: version },
    ...{ query: query ?? ifNoneExist, ifAbsent: ifNoneExist !== undefined },
  };
}
