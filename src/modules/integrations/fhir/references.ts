import { isJsonObject } from '../../../domain/events/event.ts';
import { recordStream } from '../../../domain/events/streams.ts';
import { systems } from '../../../domain/fhirElements.ts';
import type { RecordFields } from '../../../domain/records/schema/kind.ts';
import { ServiceError } from '../../../platform/errors.ts';
import { currentState, type QueryPorts } from '../../records/queries/records.ts';
import { searchRecords } from '../../records/queries/search.ts';
import type { RecordOperation } from '../operations.ts';
import { identify, type MessageIndex } from './bundle.ts';
import { identifierOf, type Reference, type Referred, referredBy } from './resources/elements.ts';
import { mapResource } from './resources/index.ts';
import { type Issue, type MappedRecord, type MappingContext, refused } from './resources/issues.ts';

/** The records of the workspace, as far as reading a message requires them. Its methods reject with `unavailable`. */
export interface FhirRecords {
  /** Resolves with a record's present state; undefined where there is none. */
  current(kind: string, id: string): Promise<{ version: number; fields: RecordFields } | undefined>;
  /**
   * Resolves with the ids of the records of a kind in which a field that holds an identifying number, such as an NPI,
   * has this value.
   */
  havingNumber(kind: string, field: string, value: string): Promise<string[]>;
}

/** The record that a reference names, or why there is none; `isAmbiguous` where there is more than one. */
export type Resolved = { id: string; also?: RecordOperation } | { issue: Issue; isAmbiguous?: boolean };

/** Types of resources by the kind of their records. */
const typesOf: Record<string, readonly string[]> = {
  patient: ['Patient'],
  payer: ['Organization'],
  provider: ['Practitioner'],
  facility: ['Location', 'Organization'],
  encounter: ['Encounter'],
};
/** Fields of records that hold the identifiers of a system. */
const numbers = new Map<string, Partial<Record<string, string>>>(
  Object.entries({
    [systems.npi]: { provider: 'npi', facility: 'npi' },
    [systems.ein]: { facility: 'tax_id' },
    [systems.clia]: { facility: 'clia_number' },
    [systems.naic]: { payer: 'payer_code' },
  }),
);

/** Finds the records that a message's references name: first in the message, then in the workspace. */
export class ReferenceResolver {
  readonly #index: MessageIndex;
  readonly #records: FhirRecords;
  readonly #context: MappingContext;
  /** What was looked up in the workspace, by kind, field and value. */
  readonly #asked = new Map<string, Promise<string[]>>();

  constructor(index: MessageIndex, records: FhirRecords, context: MappingContext) {
    this.#index = index;
    this.#records = records;
    this.#context = context;
  }

  /**
   * Resolves with the record of a kind that a reference names; `owner` is the resource that refers to it. Whether it
   * exists is checked when it is written, unless it is searched for. Rejects with `unavailable`.
   */
  async resolve(reference: Reference, kind: string, expression: string, owner: unknown): Promise<Resolved> {
    const referred = referredBy(reference);
    if (referred === undefined) {
      const text = 'Send a reference: an address, an identifier or, for a payer, a name.';
      return { issue: refused('invalid', expression, text) };
    }
    switch (referred.by) {
      case 'contained':
        return this.#contained(referred.id, kind, expression, owner);
      case 'fullUrl':
        return found(this.#index.byUrl(referred.url), kind, expression);
      case 'id':
        return this.#byId(referred, reference, kind, expression);
      case 'identifier':
        return this.#byIdentifier(referred, kind, expression);
      default:
        return byName(referred.display, kind, expression);
    }
  }

  /**
   * Where the records of a type have their ids from identifiers, a `Resource.id` tells nothing outside of the message: it may be
   * the identifier of another record.
   */
  #byId(
    referred: Extract<Referred, { by: 'id' }>,
    { identifier }: Reference,
    kind: string,
    expression: string,
  ): Resolved {
    const { type, id, url = '' } = referred;
    if (!typesOf[kind]?.includes(type)) {
      const text = `It must refer to ${typesOf[kind]?.join(' or ')}.`;
      return { issue: refused('invalid', expression, text) };
    }
    const inMessage = this.#index.byUrl(url) ?? this.#index.byId(type, id);
    if (inMessage) return found(inMessage, kind, expression);
    const system = this.#context.idSystems[type];
    if (system === undefined) return { id };
    const own = identifier && identifierOf([identifier], system);
    if (own !== undefined) return { id: own };
    const text = `The source identifies each ${type} by an identifier. Send the reference with that identifier, or the ${type} in the same bundle.`;
    return { issue: refused('not-found', expression, text) };
  }

  async #byIdentifier(
    { system, value }: Extract<Referred, { by: 'identifier' }>,
    kind: string,
    expression: string,
  ): Promise<Resolved> {
    const types = typesOf[kind] ?? [];
    for (const type of types) {
      const inMessage = this.#index.byIdentifier(type, { system, value });
      if (inMessage?.kind === kind) return { id: inMessage.id };
    }
    if (types.some((type) => system !== undefined && this.#context.idSystems[type] === system)) {
      return { id: value };
    }
    const field = numbers.get(system ?? '')?.[kind];
    if (field === undefined) {
      const text = `No ${kind} is identified by identifiers of this system. Send it in the same bundle, or configure the system as the id system of the source.`;
      return { issue: refused('not-found', expression, text) };
    }
    const [id, another] = await this.#havingNumber(kind, field, value.replaceAll(/\s/g, ''));
    if (id === undefined)
      return { issue: refused('not-found', expression, `No ${kind} has this identifier.`) };
    if (another !== undefined) {
      return {
        issue: refused('not-found', expression, `More than one ${kind} has this identifier.`),
        isAmbiguous: true,
      };
    }
    return { id };
  }

  #havingNumber(kind: string, field: string, value: string): Promise<string[]> {
    const asked = JSON.stringify([kind, field, value]);
    const asking = this.#asked.get(asked) ?? this.#records.havingNumber(kind, field, value);
    this.#asked.set(asked, asking);
    return asking;
  }

  /**
   * A contained payer, or a contained provider with an NPI, is created where none with its id exists; anything else
   * that is contained has no id of its own.
   */
  async #contained(id: string, kind: string, expression: string, owner: unknown): Promise<Resolved> {
    const inside = isJsonObject(owner) && Array.isArray(owner.contained) ? owner.contained : [];
    const resource = inside.find((one) => isJsonObject(one) && one.id === id);
    const missing = refused('not-found', expression, 'No contained resource has this id.');
    if (!isJsonObject(resource)) return { issue: missing };
    const { id: _local, ...rest } = resource;
    // The resource that refers to it determines what it is.
    const context = { ...this.#context, mapping: {} };
    const { recordId } = identify({ at: '', resource: rest }, context);
    const attempt = mapResource({ ...rest, ...(kind === 'payer' && asPayer) }, context, recordId);
    const isMade = 'mapped' in attempt && attempt.mapped.of === 'record' && attempt.mapped.kind === kind;
    const { fields, issues } = (isMade ? attempt.mapped : { fields: {}, issues: [] }) as MappedRecord;
    const { payer_code, name, npi } = fields;
    const own = recordId ?? (kind === 'payer' ? (payer_code ?? name) : npi);
    if (!isMade || own === undefined || (kind !== 'payer' && kind !== 'provider')) {
      const text = `A contained resource has no id that others can refer to. Send the ${kind} as a separate resource.`;
      return { issue: refused('not-supported', expression, text) };
    }
    if (recordId === undefined && kind === 'provider') {
      const known = await this.#byIdentifier(
        { by: 'identifier', type: 'Practitioner', system: systems.npi, value: String(npi) },
        kind,
        expression,
      );
      if ('id' in known || known.isAmbiguous) return known;
    }
    const [wrong] = issues.filter(({ severity }) => severity === 'error');
    if (wrong) return { issue: { ...wrong, expression } };
    return madeInPassing(kind, String(own), fields, expression);
  }
}

const asPayer = { type: [{ coding: [{ code: 'pay' }] }] };

function found(record: { kind: string; id: string } | undefined, kind: string, expression: string): Resolved {
  if (record?.kind === kind) return { id: record.id };
  const text = record
    ? `It does not refer to a record of the kind ${kind}.`
    : 'It does not refer to a resource in this bundle.';
  return { issue: refused(record ? 'invalid' : 'not-found', expression, text) };
}

function byName(display: string, kind: string, expression: string): Resolved {
  if (kind === 'payer') return madeInPassing(kind, display, { name: display }, expression);
  return {
    issue: refused(
      'not-found',
      expression,
      `Text does not identify the ${kind}. Send a reference or an identifier.`,
    ),
  };
}

/**
 * Returns a record of which only what is mentioned in passing is known: it is created where none with its id exists.
 */
function madeInPassing(kind: string, id: string, fields: Record<string, unknown>, at: string): Resolved {
  return { id, also: { type: 'record', kind, fields: { ...fields, id }, at, ifAbsent: true } };
}

/**
 * Returns the resource of the message to which another one, its `owner`, refers, as far as the index has it; undefined
 * where the message does not have it.
 */
export function referredResource(reference: Reference, owner: unknown, index: MessageIndex): unknown {
  const referred = referredBy(reference);
  switch (referred?.by) {
    case 'contained': {
      const inside = isJsonObject(owner) && Array.isArray(owner.contained) ? owner.contained : [];
      return inside.find((one) => isJsonObject(one) && one.id === referred.id);
    }
    case 'fullUrl':
      return index.referred(referred.url);
    case 'id':
      return index.referred(referred.url ?? '') ?? index.referred(`${referred.type}/${referred.id}`);
    default:
      return undefined;
  }
}

/** Maximum number of records with one number that are looked at: more than one is already too many. */
const MOST = 20;

/** Returns the records of a workspace, including every write acknowledged before a call. */
export function workspaceRecords(ports: QueryPorts, workspace: string): FhirRecords {
  const current: FhirRecords['current'] = async (kind, id) => {
    const state = await currentState(ports, kind, recordStream(workspace, kind, id));
    return state === undefined || state.erased ? undefined : { version: state.version, fields: state.fields };
  };
  return {
    current,
    async havingNumber(kind, field, value) {
      const request = { text: value, kinds: [kind], limit: MOST, pageToken: undefined };
      const { items } = await searchRecords(ports, workspace, request).catch((error) => {
        // A value that no search can be for does not exist anywhere.
        if (error instanceof ServiceError && error.code === 'validation_failed') return { items: [] };
        throw error;
      });
      const records = await Promise.all(
        items.map(async ({ id }) => ({ id, found: await current(kind, id) })),
      );
      return records.flatMap(({ id, found }) => (found?.fields[field] === value ? [id] : []));
    },
  };
}
