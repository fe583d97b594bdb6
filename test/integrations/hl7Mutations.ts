import fc from 'fast-check';
import { hl7Fixture, hl7Fixtures } from './hl7Messages.ts';

const fixtures = hl7Fixtures.map(hl7Fixture);

/** What is put somewhere into a message: what means something to it, and what does not. */
const pieces = fc.oneof(
  fc.constantFrom(
    '|',
    '^',
    '~',
    '\\',
    '&',
    '""',
    '\r',
    '\n',
    '\v',
    '\x1c',
    '\0',
    '\\X',
    '\\XFF\\',
    '\\.sp9999\\',
  ),
  fc.constantFrom(
    'MSH|^~\\&|',
    '\rMSH',
    '\rPID|',
    '\rPV1|1|',
    '\rIN1|1||A',
    '\rBTS|1',
    '\rOBX|1|ED|||||',
    '__proto__',
  ),
  fc.constantFrom(
    '~~~~',
    '^^^^^^^^',
    '99999999999999',
    '20260230',
    '1e308',
    '-1',
    'Infinity',
    '\ud800',
    '\u{1f600}',
  ),
  fc.string({ unit: 'binary', maxLength: 8 }),
);

/** A place, in thousandths of the length; how many bytes are taken out there; what is put in. */
const edits = fc.array(fc.tuple(fc.nat(1_000), fc.nat(40), pieces), {
  minLength: 1,
  maxLength: 12,
});

function edited(bytes: Buffer, changes: [number, number, string][]): Buffer {
  return changes.reduce((whole, [part, count, piece]) => {
    const at = Math.floor((part * whole.length) / 1_000);
    return Buffer.concat([whole.subarray(0, at), Buffer.from(piece), whole.subarray(at + count)]);
  }, bytes);
}

/** The messages in `test/fixtures/hl7`, each tampered with. */
export const mutatedMessages = fc
  .tuple(fc.constantFrom(...fixtures), edits)
  .map(([bytes, changes]) => edited(bytes, changes));
