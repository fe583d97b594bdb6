import { buffer } from 'node:stream/consumers';
import type { FhirEntry } from '../fhir/FhirEntry.ts';
import { readBundle } from '../fhir/readBundle.ts';
import type { MessageStore } from '../messages/MessageStore.ts';
import type { Message } from '../messages/message.ts';

/** A kept FHIR message, as sent. */
export interface KeptFhir {
  entries: FhirEntry[];
  isAtomic: boolean;
  /** The number of its entries that could not be read. */
  unread: number;
}

/** Resolves with the bytes of a message. Rejects with `not_found` and `unavailable`. */
export async function bytesOf(messages: MessageStore, message: Message): Promise<Buffer> {
  return buffer(await messages.bytes(message));
}

/**
 * Returns what was sent as FHIR: a Bundle, the lines of an import, or one resource, with what was requested with it.
 */
export function readKeptFhir({ media_type, request = {} }: Message, bytes: Buffer): KeptFhir {
  const text = bytes.toString('utf8');
  if (media_type.includes('ndjson')) {
    const lines = text.split('\n').map((one, index) => ({ text: one, line: index + 1 }));
    const told = lines.filter(({ text: one }) => one.trim() !== '');
    const entries = told.flatMap(({ text: one, line }) => {
      const resource = parsed(one);
      return resource === undefined ? [] : [{ at: '', line, resource }];
    });
    return { entries, isAtomic: false, unread: told.length - entries.length };
  }
  const resource = parsed(text);
  const bundle = readBundle(resource);
  if ('issue' in bundle) {
    const { id, query, if_absent: ifAbsent, if_match: ifMatch } = request;
    return { entries: [{ at: '', resource, id, query, ifAbsent, ifMatch }], isAtomic: true, unread: 0 };
  }
  const entries = bundle.read.flatMap((one) => ('issue' in one ? [] : [one]));
  return { entries, isAtomic: bundle.type === 'transaction', unread: bundle.read.length - entries.length };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
