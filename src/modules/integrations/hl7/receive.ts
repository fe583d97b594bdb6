import { v7 as uuidv7 } from 'uuid';
import type { Caller } from '../../../domain/events/newEvent.ts';
import { ServiceError } from '../../../platform/errors.ts';
import {
  applyAtomically,
  eachOnce,
  type IngestRun,
  isOfErased,
  MessageRecorder,
  operationOutcome,
  resultOutcome,
} from '../apply.ts';
import type { MessageClaims } from '../messages/claims.ts';
import { MAX_PROBLEMS, type Message } from '../messages/message.ts';
import type { MessageStore, ProcessedMessage } from '../messages/store.ts';
import type { UnusedMessages } from '../messages/unused.ts';
import { type AboutRecord, type Operation, type OperationResult, recordOf } from '../operations.ts';
import type { Source } from '../sources.ts';
import type { IngestPorts } from '../writes.ts';
import { acknowledgements, isLater, issuesOf } from './acknowledge.ts';
import { type Hl7Source, MappingContext } from './context.ts';
import {
  type ConditionCode,
  type Hl7Issue,
  type Hl7Message,
  type Hl7Refusal,
  parseMessage,
} from './parser.ts';
import { patientIdIn } from './patient.ts';
import { visitIdOf } from './records.ts';
import { isOther, type MappedMessage, mapMessage } from './triggerEvents.ts';
import { withoutUnknownProviders } from './unknownProviders.ts';

/** The result for a record that an accepted message names, and says nothing of. */
const untouched: OperationResult = { outcome: 'left_out' };

/** Returns the result of an acknowledged message. */
export function messageOutcome({
  code,
  issues,
  subjects,
  operations,
  results,
}: MessageResult): ProcessedMessage {
  const isTaken = code === 'AA';
  const about = operations.flatMap((one, place) =>
    operationOutcome(one, isTaken ? results[place] : undefined),
  );
  return {
    state: isTaken ? 'accepted' : 'rejected',
    isOfErased: results.some(isOfErased),
    about: eachOnce([
      ...subjects.map((one) => resultOutcome(one, isTaken ? untouched : undefined)),
      ...about,
    ]),
    problems: issues.slice(0, MAX_PROBLEMS).map(({ severity, code: problem, location = '', text }) => ({
      severity,
      code: problem,
      at: location,
      text,
    })),
  };
}

/**
 * Returns the patients and the visit of a message, as far as it names them: also for a message of which nothing is
 * accepted.
 */
function subjectsOf(message: Hl7Message, source: Hl7Source): AboutRecord[] {
  // Problems with them are reported elsewhere.
  const context = new MappingContext(message, source);
  const patients = [
    ...message.all('PID').map((segment) => patientIdIn(context, segment, 3)),
    ...message.all('MRG').map((segment) => patientIdIn(context, segment, 1)),
  ];
  const visits = context.groups('PV1').map(visitIdOf);
  const named = (kind: string, ids: (string | undefined)[]) =>
    ids.flatMap((id) => (id === undefined ? [] : [{ kind, id }]));
  return [...named('patient', patients), ...named('encounter', visits)];
}

/** The result of a message. */
export interface MessageResult {
  /** How it is acknowledged. */
  code: 'AA' | 'AE' | 'AR';
  issues: Hl7Issue[];
  /** Whom and what it is about, whatever its result. */
  subjects: AboutRecord[];
  /** The operations derived from it. */
  operations: Operation[];
  /** The results of these operations. */
  results: OperationResult[];
}

/** What a message says, and whom and what it is about, whatever of it is accepted. */
interface ReadMessage {
  said: MappedMessage | Hl7Refusal;
  subjects: AboutRecord[];
  operations: Operation[];
  /** All records that it concerns. */
  about: AboutRecord[];
}

/** Returns what a source's message says. */
export function readMessage(message: Hl7Message, source: Hl7Source): ReadMessage {
  const said = mapMessage(message, source);
  const operations = 'refused' in said ? [] : said.operations;
  const survivors = operations.flatMap((one) =>
    one.type === 'merge' ? [{ kind: one.kind, id: one.into }] : [],
  );
  const subjects = [...subjectsOf(message, source), ...survivors];
  return { said, subjects, operations, about: eachOnce([...subjects, ...operations.map(recordOf)]) };
}

/**
 * Carries out what a message says: all of it, durably, or nothing, where anything in it is wrong. Rejects where the
 * service cannot do so now, as with `unavailable`; the same message then completes what was begun. `keeping`: that it is
 * kept, before which nothing is written.
 */
export async function processMessage(
  ports: IngestPorts,
  run: IngestRun,
  { said, subjects, operations: all }: ReadMessage,
  keeping: Promise<void>,
): Promise<MessageResult> {
  if ('refused' in said) {
    await keeping;
    return { code: said.refused, issues: said.issues, subjects, operations: all, results: [] };
  }
  // It is awaited later, and may fail before that.
  keeping.catch(() => undefined);
  const { operations, issues: remarks } = await withoutUnknownProviders(ports, run.caller.workspace, all);
  const results = await applyAtomically(ports, run, operations, keeping);
  for (const result of results) {
    if ('error' in result && (!(result.error instanceof ServiceError) || isLater(result.error)))
      throw result.error;
  }
  const issues = operations.flatMap((operation, place) =>
    issuesOf(operation, results[place] as OperationResult),
  );
  const isWrong = issues.some(({ severity }) => severity === 'error');
  return {
    code: isWrong ? 'AE' : 'AA',
    issues: [...said.issues, ...remarks, ...issues],
    subjects,
    operations,
    results,
  };
}

interface DeduplicatePorts extends IngestPorts {
  claims: MessageClaims;
  unused: UnusedMessages;
}

const reused: Hl7Issue = {
  severity: 'warning',
  code: '205',
  location: 'MSH^1^10',
  text: 'Another message had this control id; this message was accepted as well. Send each message with its own control id.',
};

/**
 * Keeps a message, carries it out as `processMessage` does, and notes its result; of one that is not for this service,
 * but accepted from its source, only the number is kept. A message that was taken before, with
 * the same content and the same control id from the same sender, is answered as it was then: nothing is carried out,
 * so that it undoes nothing that came later. Rejects as `processMessage` does, and with `unavailable` where the same
 * message is under way and does not finish.
 */
async function deduplicate(
  ports: DeduplicatePorts,
  run: Omit<IngestRun, 'caller'>,
  source: Hl7Source & Pick<Source, 'id'>,
  message: Hl7Message,
  keeper: MessageRecorder,
): Promise<MessageResult> {
  const own = { ...run, caller: keeper.caller };
  const read = readMessage(message, source);
  if (!('refused' in read.said) && isOther(message)) {
    const { workspace } = keeper.caller;
    await ports.unused.add(workspace, source.id, message);
    return { code: 'AA', issues: [], subjects: [], operations: [], results: [] };
  }
  if (message.controlId === '') {
    const taken = await processMessage(ports, own, read, keeper.save(read.about));
    await keeper.processed(messageOutcome(taken));
    return taken;
  }
  const control = [3, 4, 10].map((field) => message.header.text(field));
  const claim = await keeper.claim(ports.claims, control, read.about, run.stopping);
  if (!('lock' in claim)) return duplicateResult(claim);
  const { lock } = claim;
  let isNoted = false;
  try {
    const [taken, others] = await Promise.all([
      processMessage(ports, own, read, claim.confirm()),
      lock.others(),
    ]);
    const isReused = others.some(
      (other) => other.state === 'accepted' && other.control?.claim !== lock.control.claim,
    );
    const outcome = isReused ? { ...taken, issues: [...taken.issues, reused] } : taken;
    await keeper.processed(messageOutcome(outcome), lock.settling(others));
    isNoted = true;
    return outcome;
  } finally {
    await lock.end({ isNoted });
  }
}

/** Returns the result of a message that was taken, and changes nothing now. */
function duplicateResult({ about, problems }: Message): MessageResult {
  const results = about.flatMap(({ version }): OperationResult[] =>
    version === undefined ? [] : [{ outcome: 'unchanged', version, warnings: [] }],
  );
  const issues = problems.map(
    ({ severity, code, at, text }) =>
      ({
        severity: severity === 'error' ? severity : 'warning',
        code: code as ConditionCode,
        ...(at && { location: at }),
        text,
      }) satisfies Hl7Issue,
  );
  return { code: 'AA', issues, subjects: [], operations: [], results };
}

export interface ReceivePorts extends DeduplicatePorts {
  messages: MessageStore;
}

const EVENT = /^[A-Z0-9]{3}\^[A-Z0-9]{3}$/;
/** Longer control ids are not kept as such (HL7 v2.5.1: at most 20 characters). */
const MOST_OF_CONTROL_ID = 199;

/** Returns by what people recognize a message: its event and its control id, where it has them. */
export function headingOf({ type, event, controlId }: Hl7Message): Pick<Message, 'event' | 'control_id'> {
  const named = `${type}^${event}`;
  const isKept = controlId !== '' && controlId.length <= MOST_OF_CONTROL_ID;
  return { ...(EVENT.test(named) && { event: named }), ...(isKept && { control_id: controlId }) };
}

/** Returns what identifies an acknowledgement made now. */
export function newStamp() {
  return { controlId: uuidv7(), at: new Date() };
}

/** A message as it arrived. */
interface SentMessage {
  caller: Caller;
  bytes: Buffer;
  /** The media type with which it is kept. */
  type: string;
}

/** The result of a message, and the response to its sender. */
interface ReceivedMessage extends MessageResult {
  /** Usually one; in the enhanced mode those that the sender wants. */
  acknowledgements: Buffer[];
}

/**
 * Takes a source's message as `deduplicate` does, and rejects as that does: the message must then not be acknowledged.
 */
export async function receiveMessage(
  ports: ReceivePorts,
  run: Omit<IngestRun, 'caller'>,
  source: Hl7Source & Source,
  { caller, bytes, type }: SentMessage,
): Promise<ReceivedMessage> {
  const message = parseMessage(bytes);
  const raw = { format: 'hl7v2', media_type: type, bytes: [bytes], ...headingOf(message) } as const;
  const keeper = new MessageRecorder(ports.messages, caller, source, raw);
  const taken = await deduplicate(ports, run, source, message, keeper);
  const isReadable = message.refusal === undefined && message.controlId !== '';
  const isCommitted = taken.code !== 'AR' && isReadable;
  return { ...taken, acknowledgements: acknowledgements(message, { ...taken, isCommitted }, newStamp) };
}
