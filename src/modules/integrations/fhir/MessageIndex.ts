import { z } from 'zod';
import type { FhirEntry } from './FhirEntry.ts';
import type { Identity } from './identify.ts';
import { addressSchema, humanNameSchema, type Identifier, listOf } from './resources/dataTypes.ts';

/** The parts of a Patient or RelatedPerson from which an insurance takes its subscriber. */
export const personSchema = z.object({
  resourceType: z.enum(['Patient', 'RelatedPerson']),
  name: listOf(humanNameSchema).optional(),
  birthDate: z.string().optional(),
  address: listOf(addressSchema).optional(),
});

/** The record of a resource of the message. */
export interface Indexed {
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
