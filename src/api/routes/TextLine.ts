import type { BatchLine } from '../../modules/records/commands/batchLine.ts';
import type { ServiceError } from '../../platform/errors.ts';
import { parseJson } from '../server/readJson.ts';

/** How most clients begin a line: its kind is then known without parsing it. */
const BEGINNING = /^\s*\{\s*"kind"\s*:\s*"([a-z_]+)"/;
const BEGINNING_BYTES = 80;

/** A line of a JSON Lines body; without its bytes, where it was too large to be kept. */
export class TextLine implements BatchLine {
  readonly number: number;
  readonly seemingKind: string | undefined;
  readonly bytes: Buffer | undefined;
  readonly #refusal: ServiceError | undefined;

  /** `refusal`: why it is not read; otherwise its values were counted. */
  constructor(number: number, bytes: Buffer | undefined, refusal: ServiceError | undefined) {
    this.number = number;
    this.bytes = bytes;
    this.#refusal = refusal;
    this.seemingKind = bytes && BEGINNING.exec(bytes.toString('latin1', 0, BEGINNING_BYTES))?.[1];
  }

  read(): unknown {
    if (this.#refusal) throw this.#refusal;
    return parseJson(this.bytes as Buffer, 'line');
  }
}
