import { splitMessages } from '../../modules/integrations/hl7/splitMessages.ts';
import { ServiceError } from '../../platform/errors.ts';

import { bodyTooLarge } from '../server/readJson.ts';
import { refusalOf } from './refusalOf.ts';

/** Media types of messages, as interface engines name them. */
export const mediaTypes = ['application/hl7-v2', 'x-application/hl7-v2+er7'] as const;

/** For all messages of a body. */
export const MAX_MESSAGES_BYTES = 8 * 1024 * 1024;

/** Per body: they are carried out one after another while the sender waits. */
export const MAX_MESSAGES = 1_000;

/** Returns the refusal of a body with more of them. */
export function tooManyMessages(): ServiceError {
  return new ServiceError(
    'payload_too_large',
    `The body has more than ${MAX_MESSAGES} messages. Split it into several requests.`,
  );
}

/** Returns the refusal of a body of another type. */
export function notHl7(): ServiceError {
  return new ServiceError(
    'unsupported_media_type',
    `Send messages with Content-Type: ${mediaTypes.join(' or ')}.`,
  );
}

/** The ways in which HL7 v2 messages can be refused without an acknowledgement. */
export const hl7Responses = {
  InvalidHl7: {
    description: 'The body is malformed, or does not contain HL7 v2 messages; nothing was stored.',
    errors: { malformed_body: refusalOf(() => splitMessages(Buffer.from('Hello'))) },
  },
  MessagesTooLarge: {
    description:
      'The body contains more than 1,000 messages, or is larger than 8 MB (8,388,608 bytes), compressed ' +
      'or not.',
    errors: { payload_too_large: tooManyMessages(), body_too_large: bodyTooLarge(MAX_MESSAGES_BYTES) },
  },
  NotHl7: {
    description:
      'The body is neither `application/hl7-v2` nor `x-application/hl7-v2+er7`, or is compressed with ' +
      'something other than gzip.',
    errors: { unsupported_media_type: notHl7() },
  },
};
