import type { Reference } from './dataTypes.ts';

/** What a reference names. */
export type Referred =
  /** A resource contained in the one that refers to it, by its id there. */
  | { by: 'contained'; id: string }
  /** An entry of the same bundle, by its `fullUrl`. */
  | { by: 'fullUrl'; url: string }
  /** A resource by its type and id, on this server or, with `url`, anywhere. */
  | { by: 'id'; type: string; id: string; url?: string }
  /** The only resource of a type that has an identifier. */
  | { by: 'identifier'; type: string | undefined; system: string | undefined; value: string }
  /** Only a text for people. */
  | { by: 'display'; display: string };

/** Longer than any address: anything longer is not looked at. */
const MAX_LENGTH = 2048;

const RELATIVE = /^([A-Z][A-Za-z]+)\/([A-Za-z0-9\-.]{1,64})(?:\/_history\/[^/]+)?$/;
const ABSOLUTE = /^(https?:\/\/.+\/)([A-Z][A-Za-z]+)\/([A-Za-z0-9\-.]{1,64})(?:\/_history\/[^/]+)?$/;
const CONDITIONAL = /^([A-Z][A-Za-z]+)\?identifier=(.+)$/;

/**
 * Returns what a reference names (FHIR R4, 2.29; conditional ones: 3.1.0.11.2); undefined for one that names nothing,
 * or in an unknown way. A literal reference takes precedence over an identifier, and that over a text.
 */
export function referredBy({ reference, identifier, type, display }: Reference): Referred | undefined {
  if (reference !== undefined) return reference.length > MAX_LENGTH ? undefined : literally(reference);
  if (identifier?.value !== undefined) {
    return { by: 'identifier', type, system: identifier.system, value: identifier.value };
  }
  return display === undefined ? undefined : { by: 'display', display };
}

function literally(reference: string): Referred | undefined {
  if (reference.startsWith('#')) return { by: 'contained', id: reference.slice(1) };
  if (/^urn:(?:uuid|oid):/.test(reference)) return { by: 'fullUrl', url: reference };
  const conditional = CONDITIONAL.exec(reference);
  if (conditional) return byToken(conditional[1] as string, conditional[2] as string);
  const absolute = ABSOLUTE.exec(reference);
  if (absolute) {
    return { by: 'id', type: absolute[2] as string, id: absolute[3] as string, url: reference };
  }
  const relative = RELATIVE.exec(reference);
  return relative ? { by: 'id', type: relative[1] as string, id: relative[2] as string } : undefined;
}

/** Parses a search token: `system|value`, `|value` or `value`, percent-encoded or not. */
function byToken(type: string, token: string): Referred | undefined {
  const text = decoded(token);
  const bar = text.indexOf('|');
  const [system, value] =
    bar < 0 ? [undefined, text] : [text.slice(0, bar) || undefined, text.slice(bar + 1)];
  return value === '' ? undefined : { by: 'identifier', type, system, value };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
