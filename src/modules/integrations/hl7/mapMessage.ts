import type { Operation } from '../operation.ts';
import { adt } from './adt.ts';
import { dft } from './dft.ts';
import type { Hl7Message } from './Hl7Message.ts';
import { type Hl7Issue, type Hl7Refusal, refusal } from './hl7Issue.ts';
import type { Hl7Source } from './hl7Source.ts';
import { MappingContext } from './MappingContext.ts';
import type { EventMappings } from './mapEvent.ts';
import { mdm } from './mdm.ts';
import { siu } from './siu.ts';

/** What a message says, in the order in which it is to be carried out, and what was not used of it. */
export interface MappedMessage {
  operations: Operation[];
  /** Only warnings. */
  issues: Hl7Issue[];
}

const types = new Map<string, EventMappings>([
  ['ADT', adt],
  ['SIU', siu],
  ['DFT', dft],
  ['MDM', mdm],
]);

/** HL7 table 0103: production, training, debugging. */
const PRODUCTION = 'P';
const ANY = [PRODUCTION, 'T', 'D'];

/**
 * Returns what a source's message says; a refusal where it cannot be read, is not for this service, or lacks
 * something required.
 */
export function mapMessage(message: Hl7Message, source: Hl7Source): MappedMessage | Hl7Refusal {
  if (message.refusal) return message.refusal;
  const unsuitable = unsuitability(message, source);
  if (unsuitable) return unsuitable;
  const events = types.get(message.type);
  if (events === undefined) {
    const taken = [...types.keys()].join(', ');
    return refusal(
      'AR',
      '200',
      'MSH^1^9',
      `Messages of this type are not supported. The supported types are ${taken}.`,
    );
  }
  const map = events.get(message.event);
  if (map === undefined) {
    const taken = [...events.keys()].join(', ');
    return refusal(
      'AR',
      '201',
      'MSH^1^9',
      `Messages of this event are not supported. The supported events of ${message.type} are ${taken}.`,
    );
  }
  const context = new MappingContext(message, source);
  const operations = map(context);
  const { issues } = context;
  if (issues.some(({ severity }) => severity === 'error')) return { refused: 'AE', issues };
  return { operations, issues };
}

/** Returns why a message is not looked at, whatever it says. */
function unsuitability(message: Hl7Message, source: Hl7Source): Hl7Refusal | undefined {
  if (!/^2\.\d(?:\.\d)?$/.test(message.version)) {
    return refusal('AR', '203', 'MSH^1^12', 'Send the HL7 v2 version of the message, such as 2.5.1.');
  }
  const processingIds = source.maySendTests ? ANY : [PRODUCTION];
  if (!processingIds.includes(message.header.value(11) ?? '')) {
    const taken = processingIds.join(', ');
    return refusal(
      'AR',
      '202',
      'MSH^1^11',
      `Messages with this processing id are not accepted here. Send ${taken}.`,
    );
  }
  if (message.controlId === '') {
    return refusal(
      'AE',
      '101',
      'MSH^1^10',
      'Send a control id; the acknowledgment refers to the message by it.',
    );
  }
  return undefined;
}
