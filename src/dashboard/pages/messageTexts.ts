import type { Message, MessageState } from '../../modules/integrations/messages/message.ts';
import type { Html } from '../components/html.ts';
import { badge } from '../components/text.ts';

/** Formats as people name them. */
export const formatTexts: Record<Message['format'], string> = { fhir: 'FHIR', hl7v2: 'HL7 v2' };

const tones = { received: 'neutral', accepted: 'good', partly: 'bad', rejected: 'bad' } as const;

/** Returns the result of a message. */
export function stateBadge(state: MessageState): Html {
  return badge(state, tones[state]);
}
