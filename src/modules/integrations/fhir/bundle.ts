import { z } from 'zod';
import { isJsonObject, type JsonObject } from '../../../domain/events/event.ts';
import type { Operation, RecordOperation } from '../operations.ts';
import {
  addressSchema,
  humanNameSchema,
  type Identifier,
  identifierOf,
  identifierSchema,
  listOf,
} from './resources/elements.ts';
import { typeOf } from './resources/index.ts';
import { type Issue, type MappingContext, refused, remarked } from './resources/issues.ts';
import { isPayer, organizationSchema } from './resources/organization.ts';

/** A resource of a message, and what is requested with it. */
export interface FhirEntry {
  /** Where it is: `Bundle.entry[3].resource`; empty for a message that is a single resource. */
  at: string;
  /** In Bulk Data, its line, counted from 1. */
  line?: number;
  /** Its address within the message. */
  fullUrl?: string | undefined;
  resource: unknown;
  /** The id by which it is addressed, with PUT. */
  id?: string | undefined;
  /** The search by which it is addressed: `identifier=system|value`. */
  query?: string | undefined;
  /** Nothing is written where its record already exists. */
  ifAbsent?: boolean | undefined;
  /** The version of the record that it replaces. */
  ifMatch?: number | undefined;
}

/** The parts of a Patient or RelatedPerson from which an insurance takes its subscriber. */
export const personSchema = z.object({
  resourceType: z.enum(['Patient', 'RelatedPerson']),
  name: listOf(humanNameSchema).optional(),
  birthDate: z.string().optional(),
  address: listOf(addressSchema).optional(),
});

/** The record of a resource of the message. */
interface Indexed {
  kind: string;
  id: string;
}

/** Finds the records of a message's resources by what references say about them, wherever they are in the message. */
export class MessageIndex {
  readonly #byUrl = new Map<string, Indexed>();
  readonly #byId = new Map<string, Indexed>();
  readonly #byIdentifier = new Map<string, Indexed>();

  readonly #referred = new Map<string, unknown>();

  add({ fullUrl, resource }: FhirEntry, { type, kind, resourceId, identifiers, recordId }: Identity): void {
    const person = personSchema.safeParse(resource);
    const referred = person.success ? person.data : { resourceType: type };
    if (fullUrl !== undefined) this.#referred.set(fullUrl, referred);
    if (resourceId !== undefined) this.#referred.set(`${type}/${resourceId}`, referred);
    if (kind === undefined || recordId === undefined) return;
    const record = { kind, id: recordId };
    if (fullUrl !== undefined) this.#byUrl.set(fullUrl, record);
    if (resourceId !== undefined) this.#byId.set(`${type}/${resourceId}`, record);
    for (const one of identifiers) this.#byIdentifier.set(tokenOf(type, one), record);
  }

  /** Returns the type of the resource with a `fullUrl`, or with an address `Type/id`; of a person, what `personSchema` has. */
  referred(address: string): unknown {
    return this.#referred.get(address);
  }

  byUrl(url: string): Indexed | undefined {
    return this.#byUrl.get(url);
  }

  byId(type: string, id: string): Indexed | undefined {
    return this.#byId.get(`${type}/${id}`);
  }

  /** `type` is that of the resource. */
  byIdentifier(type: string, identifier: Identifier): Indexed | undefined {
    return this.#byIdentifier.get(tokenOf(type, identifier));
  }
}

function tokenOf(type: string | undefined, { system = '', value = '' }: Identifier): string {
  return JSON.stringify([type, system, value]);
}

/** The operations of a message, in order, with access to the last one for a record. */
export class MessageOperations {
  readonly all: Operation[] = [];
  readonly #byRecord = new Map<string, RecordOperation>();

  add(operation: Operation): void {
    this.all.push(operation);
    if (operation.type !== 'record') return;
    this.#byRecord.set(nameOf(operation.kind, String(operation.fields.id)), operation);
  }

  /** Adds a record mentioned in passing, which is created once. */
  addMade(record: RecordOperation): void {
    if (this.lastOf(record.kind, String(record.fields.id)) === undefined) this.add(record);
  }

  /** Returns the last write to a record. */
  lastOf(kind: string, id: string): RecordOperation | undefined {
    return this.#byRecord.get(nameOf(kind, id));
  }
}

function nameOf(kind: string, id: string): string {
  return `${kind} ${id}`;
}

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

const identifiersSchema = listOf(identifierSchema);

/** By the type of a resource, the kind of its record. */
const kinds: Partial<Record<string, string>> = {
  Patient: 'patient',
  Location: 'facility',
  Practitioner: 'provider',
  Encounter: 'encounter',
  DocumentReference: 'document',
};

/** How a resource identifies itself. */
export interface Identity {
  type: string | undefined;
  /** Kind of its record; undefined where it has none. */
  kind: string | undefined;
  /** `Resource.id`, or the one in the address to which it was sent. */
  resourceId: string | undefined;
  identifiers: Identifier[];
  /**
   * The id of its record: its identifier of the system that the source names for the type, otherwise `Resource.id`.
   * Undefined without either: an id made up here would be different the next time.
   */
  recordId: string | undefined;
}

export function identify({ resource, id }: FhirEntry, context: MappingContext): Identity {
  const type = typeOf(resource);
  const { id: ownId, identifier } = isJsonObject(resource) ? resource : {};
  const resourceId = id ?? (typeof ownId === 'string' && ownId !== '' ? ownId : undefined);
  const parsed = identifiersSchema.safeParse(identifier);
  const identifiers = parsed.success ? parsed.data : [];
  const system = type && context.idSystems[type];
  const recordId = (system && identifierOf(identifiers, system)) ?? resourceId;
  return { type, kind: kindOf(type, resource, context, recordId), resourceId, identifiers, recordId };
}

function kindOf(
  type: string | undefined,
  resource: unknown,
  context: MappingContext,
  recordId: string | undefined,
): string | undefined {
  if (type !== 'Organization') return type && kinds[type];
  const organization = organizationSchema.safeParse(resource);
  return organization.success && isPayer(organization.data, context, recordId) ? 'payer' : 'facility';
}

const TAG = /^(?:W\/)?"([1-9]\d{0,14})"$/;

/** Returns the version that a tag such as `W/"3"` names (FHIR R4, 3.1.0.5); undefined where none is sent. */
export function versionOf(tag: string | undefined): number | undefined | 'invalid' {
  if (tag === undefined) return undefined;
  const version = TAG.exec(tag)?.[1];
  return version === undefined ? 'invalid' : Number(version);
}

/** Types of Bundles that request something, and of those that only contain resources, which become a batch. */
const requestTypes = ['batch', 'transaction'] as const;
const contentTypes = ['searchset', 'collection', 'history', 'message'] as const;

/** The parts of a Bundle (FHIR R4, 2.36) that are used. */
const bundleSchema = z.object({
  resourceType: z.literal('Bundle'),
  type: z.enum([...requestTypes, ...contentTypes]),
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
interface ReadBundle {
  type: 'batch' | 'transaction';
  /** Whether it requests nothing, and its resources are read like those of a batch. */
  isContent: boolean;
  /** An issue that is a warning is about what is left out. */
  read: (FhirEntry | { issue: Issue })[];
}

/** Returns the value as a Bundle; an issue where it is not one, or of a type that is not accepted. */
export function readBundle(value: unknown): ReadBundle | { issue: Issue } {
  const bundle = bundleSchema.safeParse(value);
  if (!bundle.success) return { issue: notBundle(bundle.error) };
  const { type, entry } = bundle.data;
  const requested = requestTypes.find((one) => one === type);
  if (requested) return { type: requested, isContent: false, read: entry.map(readEntry) };
  return { type: 'batch', isContent: true, read: readContents(entry, type === 'history') };
}

/**
 * Returns the resources of a Bundle that requests nothing. In a history, which has the newest version of a resource
 * first (FHIR R4, 3.1.0.9), the others are left out, and a deletion with them: nothing is erased by it.
 */
function readContents(entries: readonly BundleEntry[], isHistory: boolean): ReadBundle['read'] {
  const newer = new Set<string>();
  return entries.map(({ fullUrl, resource, request }, index) => {
    const at = `Bundle.entry[${index}].resource`;
    const leftOut = (text: string) => ({ issue: remarked('not-supported', at, text) });
    const id = (resource as { id?: unknown } | undefined)?.id;
    const address = resource === undefined ? request?.url : `${typeOf(resource)}/${id}`;
    const isNewer = isHistory && address !== undefined && newer.has(address);
    if (address !== undefined) newer.add(address);
    if (isNewer) return leftOut('It is left out, because the Bundle has a newer version.');
    if (resource !== undefined) return { at, fullUrl, resource };
    return leftOut('There is no resource, so nothing is changed.');
  });
}

/**
 * Returns a Bundle of type `batch` with the resources of one that requests nothing; a Bundle that is of another type,
 * or is none, as it is.
 */
export function asBatch(value: JsonObject): JsonObject {
  const bundle = readBundle(value);
  if ('issue' in bundle || !bundle.isContent) return value;
  const entry = bundle.read.flatMap((one) => {
    if ('issue' in one) return [];
    const { fullUrl, resource } = one;
    const request = { method: 'POST', url: typeOf(resource) ?? '' };
    return [{ ...(fullUrl !== undefined && { fullUrl }), resource: resource as JsonObject, request }];
  });
  return { resourceType: 'Bundle', type: 'batch', entry };
}

function notBundle(error: z.ZodError): Issue {
  const [first] = error.issues;
  if (first?.path[0] === 'type') {
    return refused(
      'not-supported',
      'Bundle.type',
      'Only bundles of the types batch and transaction are supported, and, if the source accepts them, searchset, collection, history and message.',
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
