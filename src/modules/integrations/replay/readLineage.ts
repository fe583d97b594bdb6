import { recordStream } from '../../../domain/events/streamNames.ts';
import { catalogEntry, type RecordFields } from '../../../domain/records/catalog.ts';
import { evolveRecord, type RecordState } from '../../../domain/records/fold.ts';
import type { KeyDirectory } from '../../auth/KeyDirectory.ts';
import { foldStream } from '../../records/queries/foldStream.ts';
import type { QueryPorts } from '../../records/queries/readRecord.ts';
import { recordOf } from '../aboutRecords.ts';
import { readConfigurations } from '../configurations.ts';
import type { FhirRecords } from '../fhir/FhirRecords.ts';
import { Interpreter } from '../fhir/Interpreter.ts';
import { originsOf } from '../fhir/originsOf.ts';
import { contextOf } from '../fhir/resources/contextOf.ts';
import { workspaceRecords } from '../fhir/workspaceRecords.ts';
import { flatFields } from '../flatFields.ts';
import { mapMessage } from '../hl7/mapMessage.ts';
import { parseMessage } from '../hl7/parseMessage.ts';
import { hl7Rules } from '../hl7Rules.ts';
import { ruleOf } from '../mappingRule.ts';
import type { MessageStore } from '../messages/MessageStore.ts';
import type { Message } from '../messages/message.ts';
import { orderTimeOf } from '../messages/orderTimeOf.ts';
import type { Operation } from '../operation.ts';
import type { Origins } from '../origin.ts';
import { sourceOf } from '../sourceOf.ts';
import { toldFields } from '../toldFields.ts';
import { bytesOf, readKeptFhir } from './readKept.ts';
import { sourceAt } from './sourceAt.ts';

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
  const { entries } = readKeptFhir(message, bytes);
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
    operation.type === 'document'
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
  if (operation.type !== 'record') return toldFields(operation);
  const parsed = catalogEntry(operation.kind).schema.safeParse(operation.fields);
  const fields = (parsed.success ? parsed.data : operation.fields) as RecordFields;
  return flatFields(fields);
}

function hl7RuleOf(kind: string, field: string): string | null {
  const [outer = '', inner] = field.split('.');
  const rule = inner === undefined ? ruleOf(hl7Rules, kind, outer) : ruleOf(hl7Rules, 'insurance', inner);
  return rule?.name ?? null;
}
