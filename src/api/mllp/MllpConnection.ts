import type { Socket } from 'node:net';
import { type Frame, FrameReader, FramingError, framed } from './FrameReader.ts';

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
export class NotTaken extends Error {}

/** Yields the responses to the messages of a frame, one after another. Rejects with `NotTaken`. */
export type Take = (frame: Frame) => AsyncIterable<Buffer>;

/**
 * How a connection ended: `closed` by its sender or in between, `drained` as the service shuts down, `not_taken`
 * because of a message that could not be taken, `not_framed` because of what was sent, `late` because its time was
 * up.
 */
export type ConnectionEnd = 'closed' | 'drained' | 'not_taken' | 'not_framed' | 'late';

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
  async serve(take: Take): Promise<ConnectionEnd> {
    try {
      this.#allow(this.#times.idle);
      // Not destroyed with the iteration: the sender should be able to read the response.
      for await (const chunk of this.#socket.iterator({ destroyOnReturn: false })) {
        await this.#takeAll(chunk, take);
        if (this.#isDraining) break;
      }
      this.#leave();
      return this.#isDraining ? 'drained' : 'closed';
    } catch (error) {
      this.#socket.destroy();
      if (this.#isLate) return 'late';
      if (error instanceof NotTaken) return 'not_taken';
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
  async #takeAll(chunk: Buffer, take: Take): Promise<void> {
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
