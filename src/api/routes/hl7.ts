import { Readable } from 'node:stream';
import { MIMEType } from 'node:util';
import { z } from 'zod';
import type { FaultCode } from '../../domain/records/schema/faults.ts';
import type { FoundKey, KeyDirectory } from '../../modules/auth/keyDirectory.ts';
import type { Hl7Source } from '../../modules/integrations/hl7/context.ts';
import { eventsText } from '../../modules/integrations/hl7/events.ts';
import { fieldNames } from '../../modules/integrations/hl7/fieldNames.ts';
import { splitMessages } from '../../modules/integrations/hl7/framing.ts';
import type { ConditionCode, Hl7Issue } from '../../modules/integrations/hl7/parser.ts';
import {
  type MessageResult,
  type ReceivePorts,
  receiveMessage,
} from '../../modules/integrations/hl7/receive.ts';
import { type Source, type SourceCache, sourceOf } from '../../modules/integrations/sources.ts';
import { ServiceError } from '../../platform/errors.ts';
import { bytesSchema, endpoint } from '../schemas/endpoint.ts';
import { MAX_MESSAGES, MAX_MESSAGES_BYTES, mediaTypes, notHl7, tooManyMessages } from '../schemas/errors.ts';
import { readBody } from '../server/body.ts';
import { callerOf, type RequestContext } from '../server/requestContext.ts';
import { type BatchPorts, BatchTally, recordBatch, recordFields } from './batchRunner.ts';

/**
 * Resolves with the messages of a request, and the type with which they were sent. Rejects as `readBody` and
 * `splitMessages` do, and with `payload_too_large` where there are too many.
 */
async function readMessages(
  context: Pick<RequestContext, 'req' | 'res' | 'bodies' | 'load' | 'held' | 'found' | 'requireAdmitted'>,
): Promise<{ type: string; messages: Buffer[] }> {
  const type = mediaTypes.find((one) => one === essenceOf(context.req.headers['content-type'] ?? ''));
  if (type === undefined) throw notHl7();
  const { bytes } = await readBody(context, MAX_MESSAGES_BYTES);
  const messages = splitMessages(bytes);
  if (messages.length > MAX_MESSAGES) throw tooManyMessages();
  return { type, messages };
}

function essenceOf(header: string): string | undefined {
  try {
    return new MIMEType(header).essence;
  } catch {
    return undefined;
  }
}

const nothing = { kind: null, id: null };

/** The fields that the audit trail may name: those of records, and the segments of messages with theirs, such as `PID-7`. */
export const hl7Fields: ReadonlySet<string> = new Set([
  ...recordFields,
  ...[...fieldNames.keys()].flatMap((place) => [place.split('-')[0] as string, place]),
]);

const faultCodes: Partial<Record<ConditionCode, FaultCode>> = {
  '101': 'required',
  '103': 'not_a_choice',
  '104': 'wrong_length',
  '200': 'not_a_choice',
  '201': 'not_a_choice',
  '204': 'reference_not_found',
};

/** Returns what was wrong with a message, by the places in it. */
function refusedAt(issues: readonly Hl7Issue[]): ServiceError {
  const details = issues
    .filter(({ severity }) => severity === 'error')
    .map(({ location = '', text, code }) => {
      const [segment, , field] = location.split('^');
      return {
        field: [segment, field].filter(Boolean).join('-'),
        message: text,
        code: faultCodes[code] ?? 'invalid',
      };
    });
  return new ServiceError('validation_failed', 'The message was refused.', { details });
}

/**
 * Counts those results of a message that leave no event: that it was refused, or records in which nothing changed. `number`: its place
 * among the messages of the request, counted from 1.
 */
export function tallyMessage(
  tally: BatchTally,
  { code, issues, results }: MessageResult,
  number: number,
): void {
  if (code !== 'AA') {
    const failed = results.find((result) => 'error' in result);
    const error = failed?.error ?? refusedAt(issues);
    tally.count({ ...nothing, error }, number);
    return;
  }
  for (const result of results) {
    if (!('version' in result) || result.outcome !== 'unchanged') continue;
    tally.count({ ...nothing, written: { ...result, isSkipped: true } }, number);
  }
}

interface Hl7Ports extends ReceivePorts, BatchPorts {
  sources: SourceCache;
  directory: Pick<KeyDirectory, 'known'>;
}

const path = '/hl7/v2';

const example = {
  sent: [
    'MSH|^~\\&|ADT1|ELMST|CHARTLEDGER|BILLING|20260314093015-0500||ADT^A28^ADT_A05|MSG00001|P|2.5.1',
    'EVN|A28|20260314093015-0500',
    'PID|1||patient-1001^^^ELMST^MR||Lopez^Maria||19840229|F|||12 Elm Street^Apt 3^Omaha^NE^68102^USA^H',
    'PV1|1|N',
  ],
  answered: [
    'MSH|^~\\&|CHARTLEDGER|BILLING|ADT1|ELMST|20260314143015+0000||ACK^A28^ACK|019cec3f-5f5b-7000-8000-000000000001|P|2.5.1',
    'MSA|AA|MSG00001',
  ],
};
const text = (segments: readonly string[]) => segments.map((segment) => `${segment}\r`).join('');
const contentOf = <Schema>(schema: Schema, segments: readonly string[]) =>
  Object.fromEntries(mediaTypes.map((type) => [type, { schema, example: text(segments) }]));

/** `POST /hl7/v2`. */
export const receiveMessages = endpoint({
  method: 'post',
  path,
  operationId: 'receiveHl7Messages',
  summary: 'Send HL7 v2 messages',
  description:
    'Accepts one or more consecutive HL7 v2 messages, optionally in a batch envelope (FHS, BHS): up to ' +
    `1,000 messages, 1 MB each and 8 MB in total. Processes them in order: ${eventsText()}. The HL7 v2 guide ` +
    'describes what each event does. They are read according to the source of the key: its identifiers and its time zone.\n\n' +
    'The response contains an acknowledgment (ACK) for each message, in order: `AA` if everything in the ' +
    'message is durably stored; `AE` if it is invalid; `AR` if it is not for this service. With `AE` and ' +
    '`AR`, ERR segments say what is wrong and where, and nothing of the message is stored. If a store is ' +
    'unavailable, the response is 503 and nothing is acknowledged: send the messages again, which is ' +
    'safe. If an accepted message is sent again with the same content, the same control id (MSH-10) and ' +
    'the same sender (MSH-3, MSH-4), it is acknowledged as before and changes nothing. A message with MSH-15 or ' +
    'MSH-16 gets the acknowledgments that these ask for: `CA`, `CE` or `CR` for having been stored, then the others.',
  tag: 'HL7 v2',
  permission: 'write',
  body: { required: true, content: contentOf(z.string(), example.sent) },
  answers: {
    200: { description: 'The outcome of each message.', stream: contentOf(bytesSchema, example.answered) },
  },
  errors: ['InvalidHl7', 'MessagesTooLarge', 'NotHl7'],
  handler: (ports: Hl7Ports) => async (context) => {
    const { type, messages } = await readMessages(context);
    // A single message is no more work than a record.
    const leave = messages.length > 1 ? await ports.batches.enter(context) : () => undefined;
    try {
      const body = Buffer.concat(await receiveAll(ports, context, { type, messages }));
      return {
        headers: { 'Content-Type': type, 'Content-Length': `${body.length}` },
        body: { stream: Readable.from([body]) },
      };
    } finally {
      leave();
    }
  },
});

/** Carries out messages one after another. Rejects when one cannot be carried out now; those before it stand. */
async function receiveAll(
  ports: Hl7Ports,
  context: RequestContext,
  { type, messages }: Awaited<ReturnType<typeof readMessages>>,
): Promise<Buffer[]> {
  const caller = callerOf(context);
  const { lines: limiter, stopping } = ports.batches;
  const run = { limiter, stopping, authorize: () => undefined };
  const source = await sourceFor(ports, context);
  const tally = new BatchTally(messages.length, hl7Fields);
  const acknowledgements: Buffer[] = [];
  try {
    for (const [index, bytes] of messages.entries()) {
      context.requireAdmitted();
      const received = await receiveMessage(ports, run, source, { caller, bytes, type });
      tallyMessage(tally, received, index + 1);
      acknowledgements.push(...received.acknowledgements);
    }
  } finally {
    await recordBatch(ports, { caller, options: {}, route: path, status: 200 }, tally);
  }
  return acknowledgements;
}

async function sourceFor(
  { sources, directory }: Hl7Ports,
  { found }: RequestContext,
): Promise<Hl7Source & Source> {
  const { key, workspace } = found as FoundKey;
  const source = sourceOf(await sources.of(workspace.id), 'hl7v2', {
    keyId: key.id,
    known: directory.known,
  });
  return { ...source, maySendTests: workspace.sandbox === true };
}
