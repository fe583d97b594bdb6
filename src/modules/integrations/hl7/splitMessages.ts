import { ServiceError } from '../../../platform/errors.ts';
import { BYTES } from './characterSets.ts';

/** Segments around the messages of a file or batch (HL7 v2.5.1, 2.10.3); only the messages in it count. */
const ENVELOPE = /^(?:FHS|BHS|BTS|FTS)/;

/** Matches the lines of a body: what is between line ends and the characters that frame a message in MLLP. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it frames messages
const LINES = /[^\r\n\v\x1c]+/g;

/** Lines of a body: a thousand messages with a hundred segments each. */
const MOST_LINES = 100_000;

/**
 * Returns the messages of a body, one after another, with or without the envelope of a batch. Throws `malformed_body`
 * when there is none, or when there is something else before or between them, and `payload_too_large` beyond 100,000 lines.
 */
export function splitMessages(body: Buffer): Buffer[] {
  const isMarked = body.subarray(0, 3).equals(Buffer.from([0xef, 0xbb, 0xbf]));
  const unmarked = isMarked ? body.subarray(3) : body;
  const spans: { start: number; end: number }[] = [];
  let open: { start: number; end: number } | undefined;
  let lines = 0;
  for (const { 0: line, index } of unmarked.toString(BYTES).matchAll(LINES)) {
    lines += 1;
    if (lines > MOST_LINES) throw tooManyLines();
    if (ENVELOPE.test(line)) open = undefined;
    else if (line.startsWith('MSH')) {
      open = { start: index, end: index + line.length };
      spans.push(open);
    } else if (open) open.end = index + line.length;
    else if (line.trim() !== '') throw notMessages();
  }
  if (spans.length === 0) throw notMessages();
  return spans.map(({ start, end }) => unmarked.subarray(start, end));
}

function notMessages(): ServiceError {
  return new ServiceError(
    'malformed_body',
    'The body must consist of consecutive HL7 v2 messages. Each message begins with an MSH segment, and each segment is on its own line.',
  );
}

function tooManyLines(): ServiceError {
  return new ServiceError(
    'payload_too_large',
    'The body has more than 100,000 segments. Split it into several requests.',
  );
}
