import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { MAX_MESSAGE_BYTES } from '../../modules/integrations/hl7/parser.ts';
import { GatheredBytes } from '../server/answer.ts';

/** The byte that begins a frame, and the two that end it (HL7 v2 Minimal Lower Layer Protocol). */
const VT = 0x0b;
const FS = 0x1c;
const CR = 0x0d;

/** Bytes that may precede a frame: line ends after the previous one, or what a probe sends. */
export const MAX_STRAY_BYTES = 1024;

/** How long an oversized frame may be and still get a response that says so. */
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
  /** The last byte was an FS, which ends the frame if a CR or VT follows. */
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
        const found = this.#endIn(rest);
        if (found === undefined) {
          this.#buffer(rest);
          return;
        }
        const [end, mark] = found;
        this.#buffer(rest.subarray(0, end));
        rest = rest.subarray(end);
        yield this.#nextFrame(mark);
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

  /**
   * Returns the place after the end of the frame, and the size of what ends it: FS and CR, or FS before the VT of the
   * next frame, as some senders leave the CR out.
   */
  #endIn(bytes: Buffer): [end: number, mark: number] | undefined {
    const ends = (at: number): [number, number] | undefined => {
      if (bytes[at + 1] === CR) return [at + 2, 2];
      return bytes[at + 1] === VT ? [at + 1, 1] : undefined;
    };
    const open = this.#mayEnd ? ends(-1) : undefined;
    if (open) return open;
    for (let at = bytes.indexOf(FS); at >= 0; at = bytes.indexOf(FS, at + 1)) {
      const found = ends(at);
      if (found) return found;
    }
    return undefined;
  }

  #buffer(bytes: Buffer): void {
    this.#mayEnd = bytes.at(-1) === FS;
    this.#size = (this.#size ?? 0) + bytes.length;
    if (this.#size > MAX_FRAME_BYTES) throw new FramingError('a frame is too long');
    // With its end characters, a message of the maximum size still fits.
    this.#kept.add(bytes.subarray(0, MAX_MESSAGE_BYTES + 2 - this.#kept.length));
  }

  #nextFrame(mark: number): Frame {
    const size = (this.#size ?? 0) - mark;
    const bytes = this.#kept.drain().subarray(0, size);
    this.#size = undefined;
    this.#mayEnd = false;
    return { bytes, isTooLarge: size > MAX_MESSAGE_BYTES };
  }
}

/** Returns a message in a frame. */
export function framed(message: Buffer): Buffer {
  return Buffer.concat([Buffer.of(VT), message, Buffer.of(FS, CR)]);
}

/** Time limits of a connection, in milliseconds. */
export interface ConnectionTimes {
  /** How long it may take until its sender is known. */
  identify: number;
  /** How long it may go without a frame. */
  idle: number;
  /** How long a frame may take to arrive, and an acknowledgement to be accepted. */
  frame: number;
}

/** How long a sender has to close a connection that ends. */
const LINGER_MS = 2_000;

/** A message cannot be taken now: no response is sent, and the connection is closed. */
export class MessageNotAccepted extends Error {}

/** Yields the responses to the messages of a frame, one after another. Rejects with `MessageNotAccepted`. */
type HandleFrame = (frame: Frame) => AsyncIterable<Buffer>;

/**
 * How a connection ended: `closed` by its sender or in between, `drained` as the service shuts down, `not_taken`
 * because of a message that could not be taken, `not_framed` because of what was sent, `late` because its time was
 * up.
 */
type ConnectionEnd = 'closed' | 'drained' | 'not_taken' | 'not_framed' | 'late';

/**
 * A connection on which messages arrive: they are taken one at a time, in order, and what follows is not read before
 * the acknowledgement.
 */
export class MllpConnection {
  readonly #socket: Socket;
  readonly #times: ConnectionTimes;
  readonly #reader = new FrameReader();
  #timer: NodeJS.Timeout | undefined;
  #isLate = false;
  #isTaking = false;
  #isDraining = false;

  constructor(socket: Socket, times: ConnectionTimes) {
    this.#socket = socket;
    this.#times = times;
  }

  /** Takes messages until the connection ends. */
  async serve(take: HandleFrame): Promise<ConnectionEnd> {
    try {
      this.#allow(this.#times.idle);
      // Not destroyed with the iteration: the sender should be able to read the response.
      for await (const chunk of this.#socket.iterator({ destroyOnReturn: false })) {
        await this.#readFrames(chunk, take);
        // Between chunks others have their turn, whatever is sent.
        await nextTurn();
        if (this.#isDraining) break;
      }
      this.#leave();
      return this.#isDraining ? 'drained' : 'closed';
    } catch (error) {
      this.#socket.destroy();
      if (this.#isLate) return 'late';
      if (error instanceof MessageNotAccepted) return 'not_taken';
      if (error instanceof FramingError) return 'not_framed';
      return this.#isDraining ? 'drained' : 'closed';
    } finally {
      clearTimeout(this.#timer);
    }
  }

  /** Ends the connection once the message under way is acknowledged; what was sent after it is not taken. */
  drain(): void {
    this.#isDraining = true;
    if (!this.#isTaking) this.#leave();
  }

  /** Takes the frames that end in a chunk. */
  async #readFrames(chunk: Buffer, take: HandleFrame): Promise<void> {
    const wasWithin = this.#reader.isWithin;
    let isTaken = false;
    for (const frame of this.#reader.read(chunk)) {
      if (this.#isDraining) return;
      clearTimeout(this.#timer);
      this.#isTaking = true;
      for await (const acknowledgement of take(frame)) {
        await this.#send(framed(acknowledgement));
        if (this.#isDraining) return;
      }
      this.#isTaking = false;
      isTaken = true;
    }
    // A frame's time counts from its beginning, in however many pieces it arrives.
    const { isWithin } = this.#reader;
    if (isTaken || isWithin !== wasWithin) this.#allow(isWithin ? this.#times.frame : this.#times.idle);
  }

  /** Resolves when the system has accepted the bytes to send. */
  async #send(bytes: Buffer): Promise<void> {
    this.#allow(this.#times.frame);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#socket.write(bytes, (error) => (error ? reject(error) : resolve()));
    await promise;
    clearTimeout(this.#timer);
  }

  #allow(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#isLate = true;
      this.#socket.destroy();
    }, ms);
  }

  /**
   * Closes the connection in such a way that its sender can read what was sent to it, which unread bytes would
   * prevent.
   */
  #leave(): void {
    this.#socket.end();
    this.#socket.resume();
    const linger = setTimeout(() => this.#socket.destroy(), LINGER_MS);
    this.#socket.once('close', () => clearTimeout(linger));
  }
}
