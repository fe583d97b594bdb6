import { MAX_MESSAGE_BYTES } from '../../modules/integrations/hl7/parseMessage.ts';
import { GatheredBytes } from '../server/requestBody.ts';

/** The byte that begins a frame, and the two that end it (HL7 v2 Minimal Lower Layer Protocol). */
const VT = 0x0b;
const FS = 0x1c;
const CR = 0x0d;

/** Bytes that may precede a frame: line ends after the previous one, or what a probe sends. */
export const MAX_STRAY_BYTES = 1024;

/** How long an oversized frame may be and still be told so. */
export const MAX_FRAME_BYTES = 8 * MAX_MESSAGE_BYTES;

/** The content of a frame. */
export interface Frame {
  /** For an oversized one, the beginning. */
  bytes: Buffer;
  /** It had more than `MAX_MESSAGE_BYTES`. */
  isTooLarge: boolean;
}

/** Something other than frames is sent on a connection. */
export class FramingError extends Error {}

/** Extracts frames from what arrives on a connection, in whatever pieces. It holds no more than one message. */
export class FrameReader {
  readonly #kept = new GatheredBytes();
  /** Size of the frame that has begun; undefined between frames. */
  #size: number | undefined;
  #stray = 0;
  /** The last byte was an FS, which ends the frame if a CR follows. */
  #mayEnd = false;

  /** Whether a frame has begun but not ended. */
  get isWithin(): boolean {
    return this.#size !== undefined;
  }

  /** Yields the frames that end in the next bytes, each when it is asked for. Throws a `FramingError`. */
  *read(chunk: Buffer): Generator<Frame, void> {
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#size === undefined) rest = this.#begin(rest);
      else {
        const end = this.#endIn(rest);
        if (end === undefined) {
          this.#keep(rest);
          return;
        }
        this.#keep(rest.subarray(0, end));
        rest = rest.subarray(end);
        yield this.#take();
      }
    }
  }

  /** Returns what follows the next VT. */
  #begin(bytes: Buffer): Buffer {
    const at = bytes.indexOf(VT);
    this.#stray += at < 0 ? bytes.length : at;
    if (this.#stray > MAX_STRAY_BYTES) throw new FramingError('what was sent is not framed');
    if (at < 0) return bytes.subarray(bytes.length);
    this.#size = 0;
    this.#stray = 0;
    return bytes.subarray(at + 1);
  }

  /** Returns the place after FS and CR. */
  #endIn(bytes: Buffer): number | undefined {
    if (this.#mayEnd && bytes[0] === CR) return 1;
    for (let at = bytes.indexOf(FS); at >= 0; at = bytes.indexOf(FS, at + 1)) {
      if (bytes[at + 1] === CR) return at + 2;
    }
    return undefined;
  }

  #keep(bytes: Buffer): void {
    this.#mayEnd = bytes.at(-1) === FS;
    this.#size = (this.#size ?? 0) + bytes.length;
    if (this.#size > MAX_FRAME_BYTES) throw new FramingError('a frame is too long');
    // With its end characters, a message of the maximum size still fits.
    this.#kept.add(bytes.subarray(0, MAX_MESSAGE_BYTES + 2 - this.#kept.length));
  }

  #take(): Frame {
    const size = (this.#size ?? 0) - 2;
    const bytes = this.#kept.take().subarray(0, size);
    this.#size = undefined;
    this.#mayEnd = false;
    return { bytes, isTooLarge: size > MAX_MESSAGE_BYTES };
  }
}

/** Returns a message in a frame. */
export function framed(message: Buffer): Buffer {
  return Buffer.concat([Buffer.of(VT), message, Buffer.of(FS, CR)]);
}
