import type { BatchLine } from '../../../commands/batch/batchLine.ts';
import { ServiceError } from '../../../errors.ts';
import { parseJson } from '../../server/readJson.ts';

/** How most clients begin a line: its kind is then known without parsing it. */
const BEGINNING = /^\s*\{\s*"kind"\s*:\s*"([a-z_]+)"/;
const BEGINNING_BYTES = 80;

/** Returns the refusal of a line that is too large. */
function lineTooLarge(maxBytes: number): ServiceError {
  return new ServiceError('payload_too_large', `The line is larger than ${maxBytes / 1024 / 1024} MB.`);
}

/** A line of a JSON Lines body; without its bytes, where it was too large to be kept. */
export class TextLine implements BatchLine {
  readonly number: number;
  readonly seemingKind: string | undefined;
  readonly bytes: Buffer | undefined;
  readonly #maxBytes: number;

  constructor(number: number, bytes: Buffer | undefined, maxBytes: number) {
    this.number = number;
    this.bytes = bytes;
    this.#maxBytes = maxBytes;
    this.seemingKind = bytes && BEGINNING.exec(bytes.toString('latin1', 0, BEGINNING_BYTES))?.[1];
  }

  read(): unknown {
    if (this.bytes === undefined) throw lineTooLarge(this.#maxBytes);
    return parseJson(this.bytes, 'line');
  }
}
