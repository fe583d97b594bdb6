import type { Source } from '../source.ts';

/** How the messages of a source are read. */
export interface Hl7Source
  extends Pick<Source, 'time_zone' | 'patient_authority' | 'visit_authority' | 'facility' | 'mapping'> {
  /** It may send training and debugging messages as well as production ones (MSH-11, HL7 table 0103). */
  maySendTests?: boolean;
}
