import type { Identifier } from '../elements/dataTypes.ts';
import type { FhirEntry } from './FhirEntry.ts';
import type { Identity } from './identify.ts';

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

  readonly #resources = new Map<string, unknown>();

  add({ fullUrl, resource }: FhirEntry, { type, kind, resourceId, identifiers, recordId }: Identity): void {
    if (fullUrl !== undefined) this.#resources.set(fullUrl, resource);
    if (resourceId !== undefined) this.#resources.set(`${type}/${resourceId}`, resource);
    if (kind === undefined || recordId === undefined) return;
    const record = { kind, id: recordId };
    if (fullUrl !== undefined) this.#byUrl.set(fullUrl, record);
    if (resourceId !== undefined) this.#byId.set(`${type}/${resourceId}`, record);
    for (const one of identifiers) this.#byIdentifier.set(tokenOf(type, one), record);
  }

  /** Returns the resource with a `fullUrl`, or with an address `Type/id`. */
  resource(address: string): unknown {
    return this.#resources.get(address);
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
