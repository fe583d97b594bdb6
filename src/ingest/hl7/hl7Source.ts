import type { Source } from '../sources/source.ts';

/** How the messages of a source are read. */
export interface Hl7Source
  extends Pick<Source, 'time_zone' | 'patient_authority' | 'visit_authority' | 'facility' | 'mapping'> {
  /** It may send messages of training and debugging as well as of production (MSH-11, HL7 table 0103). */
  maySendTests?: boolean;
}
