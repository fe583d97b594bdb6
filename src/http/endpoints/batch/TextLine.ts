import type { BatchLine } from '../../../commands/batch/batchLine.ts';
import { ServiceError } from '../../../errors.ts';
import { parseJson } from '../../server/readJson.ts';

/** How most clients begin a line: then its kind is told without reading it. */
const BEGINNING = /^\s*\{\s*"kind"\s*:\s*"([a-z_]+)"/;
const BEGINNING_BYTES = 80;

/** The refusal of a line beyond what is taken. */
function lineTooLarge(): ServiceError {
  return new ServiceError('payload_too_large', 'The line is larger than 1 MB.');
}

/** A line of a body of JSON lines; without its bytes, where it was too large to be kept. */
export class TextLine implements BatchLine {
  readonly number: number;
  readonly seemingKind: string | undefined;
  readonly #bytes: Buffer | undefined;

  constructor(number: number, bytes: Buffer | undefined) {
    this.number = number;
    this.#bytes = bytes;
    this.seemingKind = bytes && BEGINNING.exec(bytes.toString('latin1', 0, BEGINNING_BYTES))?.[1];
  }

  read(): unknown {
    if (this.#bytes === undefined) throw lineTooLarge();
    return parseJson(this.#bytes, 'line');
  }
}
