import { buffer } from 'node:stream/consumers';
import { recordStream } from '../../../domain/events/streams.ts';
import { catalogEntry } from '../../../domain/records/catalog.ts';
import { evolveRecord, type RecordState } from '../../../domain/records/fold.ts';
import type { RecordFields } from '../../../domain/records/schema/kind.ts';
import type { KeyState } from '../../auth/apiKeys.ts';
import type { KeyDirectory } from '../../auth/keyDirectory.ts';
import { foldStream, type QueryPorts } from '../../records/queries/records.ts';
import { type FhirEntry, readBundle } from '../fhir/bundle.ts';
import { Interpreter } from '../fhir/interpreter.ts';
import { type FhirRecords, workspaceRecords } from '../fhir/references.ts';
import { contextOf } from '../fhir/resources/index.ts';
import { originsOf } from '../fhir/send.ts';
import { flatFields, sourcedFields } from '../fields.ts';
import { parseMessage } from '../hl7/parser.ts';
import { mapMessage } from '../hl7/triggerEvents.ts';
import { hl7Rules, ruleOf } from '../mapping.ts';
import { type Message, orderTimeOf } from '../messages/message.ts';
import type { MessageStore } from '../messages/store.ts';
import { type Operation, type Origins, recordOf } from '../operations.ts';
import {
  BUILT_IN_SOURCE,
  type Configuration,
  readConfigurations,
  type Source,
  sourceOf,
} from '../sources.ts';

/**
 * Returns the source by which a message is read, among those now configured: its own; for one that arrived when none
 * was configured, the one its sender has. Undefined where its source has been removed, or now has another format.
 */
export function presentSource(
  sources: readonly Source[],
  { source, format, sent_by }: Pick<Message, 'source' | 'format' | 'sent_by'>,
  known: Pick<KeyState, 'keys'>,
): Source | undefined {
  if (source === BUILT_IN_SOURCE) return sourceOf(sources, format, { keyId: sent_by.id, known });
  return sources.find((one) => one.id === source && one.format === format);
}

/** A kept FHIR message, as sent. */
interface StoredFhir {
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
export function readStoredFhir({ media_type, request = {} }: Message, bytes: Buffer): StoredFhir {
  const text = bytes.toString('utf8');
  if (media_type.includes('ndjson')) {
    const lines = text.split('\n').map((one, index) => ({ text: one, line: index + 1 }));
    const written = lines.filter(({ text: one }) => one.trim() !== '');
    const entries = written.flatMap(({ text: one, line }) => {
      const resource = parsed(one);
      return resource === undefined ? [] : [{ at: '', line, resource }];
    });
    return { entries, isAtomic: false, unread: written.length - entries.length };
  }
  const resource = parsed(text);
  const bundle = readBundle(resource);
  if ('issue' in bundle) {
    const { id, query, if_absent: ifAbsent, if_match: ifMatch } = request;
    return { entries: [{ at: '', resource, id, query, ifAbsent, ifMatch }], isAtomic: true, unread: 0 };
  }
  const entries = bundle.read.flatMap((one) => ('issue' in one ? [] : [one]));
  const unread = bundle.read.filter((one) => 'issue' in one && one.issue.severity === 'error').length;
  return { entries, isAtomic: bundle.type === 'transaction', unread };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns the source by which a message was read; undefined where that was not configured. */
export function sourceAt(
  configurations: readonly Configuration[],
  message: Message,
  known: Pick<KeyState, 'keys'>,
): Source | undefined {
  const configured = configurations.findLast(({ number, at }) =>
    message.configuration === undefined ? at <= message.received_at : number === message.configuration,
  );
  return presentSource(configured?.sources ?? [], message, known);
}

/** A field of a record, with where it comes from. */
export interface FieldLineage {
  /** Dotted inside an insurance. */
  field: string;
  /** As the message is read: `null` where it clears the field; undefined for a file. */
  value: unknown;
  /** Place in the message, as `Origin.at`; `null` where it has none. */
  at: string | null;
  /** Name of the rule, as in the guides; `null` where none applies, as with what the record had before. */
  rule: string | null;
  /** The source's setting that determined it. */
  setting: string | null;
}

/** What a message says about a record, or about a document, whose id is then `encounter/document`. */
export interface RecordLineage {
  kind: string;
  id: string;
  /** In an order of their own. */
  fields: FieldLineage[];
}

export interface LineagePorts extends QueryPorts {
  messages: MessageStore;
  directory: Pick<KeyDirectory, 'known'>;
}

/**
 * Resolves with where the fields of the records that a message concerns come from: it is read again without writing,
 * as its source was configured when it was read. `configuration`: the number of the configuration by which that was
 * done, for an event that has it. What would be refused now is not included. Rejects with `not_found` where the
 * message no longer exists, with `unavailable` and `unreadable`.
 */
export async function readLineage(
  ports: LineagePorts,
  workspace: { id: string; sandbox?: boolean },
  message: Message,
  configuration = message.configuration,
): Promise<RecordLineage[]> {
  const bytes = await bytesOf(ports.messages, message);
  const { known } = ports.directory;
  const configurations = await readConfigurations(ports.eventLog, workspace.id);
  const { configuration: _last, ...came } = message;
  const read = { ...came, ...(configuration !== undefined && { configuration }) };
  const source =
    sourceAt(configurations, read, known) ??
    sourceOf(configurations.at(-1)?.sources ?? [], message.format, { keyId: message.sent_by.id, known });
  if (message.format === 'hl7v2') {
    const said = mapMessage(parseMessage(bytes), { ...source, maySendTests: workspace.sandbox === true });
    const operations = 'refused' in said ? [] : said.operations;
    return operations.map((one) => lineageOf(one, one.origins ?? {}, hl7RuleOf));
  }
  const context = contextOf(source, Date.parse(orderTimeOf(message)));
  const { entries } = readStoredFhir(message, bytes);
  const interpreted = await new Interpreter(recordsThen(ports, message), context).interpret(entries);
  const origins = originsOf(interpreted, context);
  return interpreted.operations.map((one) => lineageOf(one, origins.get(one) ?? {}, () => null));
}

/**
 * Returns the records as they were when a message arrived; what was created later, as it is: the message may have
 * waited for it.
 */
function recordsThen(ports: LineagePorts, message: Message): FhirRecords {
  const { workspace } = message;
  const at = orderTimeOf(message);
  const { current, havingNumber } = workspaceRecords(ports, workspace);
  return {
    havingNumber,
    async current(kind, id) {
      const then = await foldStream<RecordState>(
        ports.eventLog,
        recordStream(workspace, kind, id),
        (before, event) => evolveRecord(kind, before, event),
        { isWanted: ({ recordedAt }) => recordedAt < at },
      );
      if (then === undefined) return current(kind, id);
      return then.erased ? undefined : { version: then.version, fields: then.fields };
    },
  };
}

function lineageOf(
  operation: Operation,
  origins: Origins,
  ruleBy: (kind: string, field: string) => string | null,
): RecordLineage {
  const { kind, id } =
    operation.type === 'document' || operation.type === 'removal'
      ? { kind: 'document', id: `${operation.encounterId}/${operation.documentId}` }
      : recordOf(operation);
  return {
    ...{ kind, id },
    fields: valuesOf(operation).map(([field, value]) => {
      const { at = null, setting = null, rule } = origins[field] ?? {};
      return { field, value, at, rule: rule ?? ruleBy(kind, field), setting };
    }),
  };
}

/** Returns the fields, as an event has them where they are valid. */
function valuesOf(operation: Operation): [field: string, value: unknown][] {
  if (operation.type !== 'record') return sourcedFields(operation);
  const parsed = catalogEntry(operation.kind).schema.safeParse(operation.fields);
  const fields = (parsed.success ? parsed.data : operation.fields) as RecordFields;
  return flatFields(fields);
}

function hl7RuleOf(kind: string, field: string): string | null {
  const [outer = '', inner] = field.split('.');
  const rule = inner === undefined ? ruleOf(hl7Rules, kind, outer) : ruleOf(hl7Rules, 'insurance', inner);
  return rule?.name ?? null;
}
