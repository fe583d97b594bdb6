import { splitMessages } from '../../modules/integrations/hl7/splitMessages.ts';
import { MAX_MESSAGES_BYTES, notHl7, tooManyMessages } from '../routes/hl7Bodies.ts';
import { bodyTooLarge } from '../server/readJson.ts';
import { refusalOf } from './refusalOf.ts';

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
